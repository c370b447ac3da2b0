package e2e

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// In a pipe the answers are lines, and events as JSON say what is asked.
func TestPermissionsInAPipe(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	const prompt = "Write a draft and delete it again."
	p.says("c*\ny\ny\n", "run", "-q", "--model", "demo:approval", "--ask", "*", prompt).wants(t, 0, "draft.txt is deleted", "May assistant run delete_file?")
	p.says("", "run", "--model", "demo:approval", "--ask", "*", prompt).wants(t, 130, "", "--allow write_file lets it run")
	p.says("", "run", "--model", "demo:approval", "--deny", "write_*", prompt).wants(t, 0, "This script needs the tools write_file and delete_file", "")
	p.says("", "run", "--model", "demo:tour", "--deny", "delte_*", "go").wants(t, 0, "", `"delte_*" fits none of the tools`)
	p.says("", "run", "--ask", "a b", "go").wants(t, 2, "", "is not a list of tools")

	out := p.says("a\nn no\nn\n", "run", "--json", "--model", "demo:approval", "--ask", "write_file,delete_file", prompt)
	out.wants(t, 0, `"kind":"asked"`, "")
	for _, want := range []string{`"name":"braid.permission"`, `"lasts":"always"`, `"reason":"no"`, `"tool":"write_file"`} {
		if !strings.Contains(out.out, want) {
			t.Errorf("the events do not hold %s:\n%s", want, out.out)
		}
	}
	list := p.says("", "permissions")
	list.wants(t, 0, "write_file\t{\"content\":", "")
	id, _, _ := strings.Cut(list.out, "\t")
	p.says("", "permissions", "--json").wants(t, 0, `"id":"`+id+`"`, "")
	p.says("", "permissions", "forget", id[:6]).wants(t, 0, "1 taken back", "")
	p.says("", "permissions", "forget", id).wants(t, 12, "", "has an ID that begins so")
	p.says("", "permissions").wants(t, 0, "", "Nothing is allowed")
}

// The server's API shows what is asked, takes answers that fit, and keeps what is allowed always.
func TestPermissionsOfTheServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir, "--model", "demo:approval", "--ask", "write_*")
	run := func() (conv string, got map[string]any) {
		conv = s.json(201, "POST", "/v1/conversations", "")["id"].(string)
		res := s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"Write a draft."}`, "Accept", "application/json")
		if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return conv, got
	}
	conv, got := run()
	q, _ := got["question"].(map[string]any)
	if got["status"] != "waiting" || q["name"] != "braid.permission" || q["tool_name"] != "write_file" || q["schema"] == nil {
		t.Fatalf("%v", got)
	}
	at := "/v1/conversations/" + conv + "/questions/"
	e := s.json(422, "POST", at+q["question_id"].(string), `{"answer":{"approved":true,"lasts":"forever"}}`)["error"].(map[string]any)
	if e["code"] != "ANSWER_INVALID" {
		t.Errorf("%v", e)
	}
	s.json(200, "POST", at+q["question_id"].(string), `{"answer":{"approved":true,"lasts":"always","any_args":true}}`)
	s.json(404, "POST", at+"another", `{"answer":true}`)
	// What is allowed always is kept once the run has read its answer: then it goes on to its next question.
	for asked := false; !asked; {
		res := s.ask("GET", "/v1/conversations/"+conv+"/runs/"+got["id"].(string)+"/stream", "")
		for lines := bufio.NewScanner(res.Body); !asked && lines.Scan(); {
			asked = strings.Contains(lines.Text(), `"tool_name":"delete_file"`)
		}
		_ = res.Body.Close()
	}
	// Another conversation, and after a start of the server anew: nothing is asked any more.
	_, got = run()
	if q, _ := got["question"].(map[string]any); q["tool_name"] != "delete_file" || q["name"] == "braid.permission" { // it asks for itself
		t.Errorf("it is asked again: %v", got)
	}
}
