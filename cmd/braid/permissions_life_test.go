package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A user's lasting approvals are removed with the tenant: the user of the same name in a new tenant with
// that id is asked, and the file keeps no arguments of the first.
func TestGrantsGoWithTheirTenant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, script := filepath.Join(dir, "data"), filepath.Join(dir, "sums.yaml")
	const canary = "41+1+0*90210"
	rules := "rules:\n  - when: {after: calculator}\n    reply: done\n  - reply: [{call: calculator, args: {expression: \"" + canary + "\"}}]\n"
	if err := os.WriteFile(script, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, data, nil, "--model", "demo:"+script, "--tools", "calculator", "--ask", "*")
	asks := func(token string) bool {
		t.Helper()
		conv := s.conversation(token)
		status, answer := s.run(token, conv, "go", "")
		if status == 200 {
			return false
		}
		var waiting struct {
			ID       string `json:"id"`
			Question struct {
				ID string `json:"question_id"`
			} `json:"question"`
		}
		if err := json.Unmarshal([]byte(answer), &waiting); status != 202 || err != nil || waiting.Question.ID == "" {
			t.Fatalf("%d %v %s", status, err, answer)
		}
		s.must(token, "POST", "/v1/conversations/"+conv+"/questions/"+waiting.Question.ID, `{"answer":{"approved":true,"lasts":"always"}}`)
		s.ask(token, "GET", "/v1/conversations/"+conv+"/runs/"+waiting.ID+"/stream", "") // wait for the end of the run
		return true
	}
	file := func() string {
		raw, err := os.ReadFile(filepath.Join(data, grantsFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, tenant := range []string{"t5", "t6"} {
		s.must("", "POST", "/v1/admin/tenants", `{"id":"`+tenant+`"}`)
	}
	other, first := s.key("t6", "ann", "read", "write"), s.key("t5", "ann", "read", "write")
	for _, token := range []string{other, first} {
		if !asks(token) || asks(token) {
			t.Fatal("an answer that holds always does not hold")
		}
	}
	if n := strings.Count(file(), canary); n != 2 {
		t.Fatalf("%d grants of two: %s", n, file())
	}
	s.must("", "PATCH", "/v1/admin/tenants/t5", `{"status":"inactive"}`)
	s.must("", "DELETE", "/v1/admin/tenants/t5", "")
	if n := strings.Count(file(), canary); n != 1 {
		t.Errorf("%d grants of one are left: %s", n, file())
	}
	s.must("", "POST", "/v1/admin/tenants", `{"id":"t5"}`)
	if second := s.key("t5", "ann", "read", "write"); !asks(second) {
		t.Error("what was allowed in an erased tenant holds in another one of its id")
	}
	if asks(other) {
		t.Error("another tenant's grant went, too")
	}
}
