package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// filesRules is a script that writes a file, or lists the files, as the user says.
const filesRules = `rules:
  - when: {after: list_files}
    reply: "files {{.Result}} end"
  - when: {after: write_file}
    reply: done
  - when: {user: write}
    reply: [{call: write_file, args: {name: canary.txt, content: "of the first customer"}}]
  - reply: [{call: list_files, args: {}}]
`

// masked is a text that a search of the test's own memory does not find.
type masked []byte

func mask(text string) masked {
	m := make(masked, len(text))
	for i := range len(text) {
		m[i] = text[i] ^ 0x5a
	}
	return m
}

func (m masked) text() []byte { return []byte(mask(string(m))) }

// apart runs do on its own goroutine, so that its stack is gone afterwards.
func apart(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

// reachable counts the occurrences of each text in reachable memory.
func reachable(t *testing.T, texts map[string]masked) map[string]int {
	t.Helper()
	for range 3 { // sync.Pool needs two collections
		runtime.GC()
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "heap"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	debug.WriteHeapDump(file.Fd())
	dump, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for name, m := range texts {
		if n := bytes.Count(dump, m.text()); n > 0 {
			found[name] = n
		}
	}
	return found
}

// After a tenant is erased, nothing in the server's reachable memory has its texts, keys or user names: no cache,
// model, connection, conversation or stream.
func TestNothingReachesAnErasedTenant(t *testing.T) { //nolint:paralleltest // it searches the memory of the whole process
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer far.Close()
	script := filepath.Join(t.TempDir(), "files.yaml")
	if err := os.WriteFile(script, []byte(filesRules), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{"ANTHROPIC_BASE_URL": far.URL}, "--model", "demo:"+script, "--tools", "files", "--ask", "list_files")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(token, method, path, body string) (status int, answer string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token == "" {
			token = s.token
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw)
	}
	texts := map[string]masked{}
	apart(func() {
		word := "word" + rand.Text()
		texts["word"] = mask(word)
		must := func(token, method, path, body string) (v map[string]any) {
			t.Helper()
			status, answer := ask(token, method, path, body)
			if err := json.Unmarshal([]byte(answer), &v); err != nil || status >= 300 {
				t.Errorf("%s %s: %d %s", method, path, status, answer)
				runtime.Goexit()
			}
			return v
		}
		at := "/v1/admin/tenants/t5"
		must("", "POST", "/v1/admin/tenants", `{"id":"t5","name":"`+word+`","system_prompt":"`+word+`"}`)
		user, secret := "user"+rand.Text(), "sk-ant-"+rand.Text()
		token := must("", "POST", at+"/keys", `{"scopes":["read","write","admin:read","admin:write"],"user":"`+user+`"}`)["token"].(string)
		texts["user"], texts["provider's key"], texts["key"] = mask(user), mask(secret), mask(token)
		must(token, "POST", at+"/models", `{"id":"main","provider":"anthropic","name":"claude-x","credential":{"secret":"`+secret+`"}}`)
		must(token, "POST", at+"/agents", `{"id":"helper","instructions":"`+word+`"}`)
		run := func(more, text string, models ...string) {
			conv := must(token, "POST", "/v1/conversations", `{"title":"`+word+`"`+more+`}`)["id"].(string)
			for _, model := range models {
				ask(token, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"`+text+` `+word+`","metadata":{"label":"`+word+`"}`+model+`}`)
			}
			must(token, "GET", "/v1/conversations/"+conv, "")
			ask(token, "GET", "/v1/conversations/"+conv+"/export", "")
		}
		run("", "write", "", `,"model":"main"`)
		run("", "look", "") // this run waits for an answer
		run(`,"agent":"helper"`, "write", `,"model":"main"`)
		must(token, "GET", at, "")
	})
	if t.Failed() {
		return
	}
	if found := reachable(t, texts); found["word"] == 0 || found["user"] == 0 || found["provider's key"] == 0 { // of an API key only the hash is kept
		t.Fatalf("only %v are in the memory: the test tests nothing", found)
	}
	apart(func() {
		for _, c := range []struct{ method, body string }{{"PATCH", `{"status":"inactive"}`}, {"DELETE", ""}} {
			if status, answer := ask("", c.method, "/v1/admin/tenants/t5", c.body); status != 200 {
				t.Errorf("%s: %d %s", c.method, status, answer)
			}
		}
	})
	// The provider and the operator's log are not part of the server, but are in this process.
	far.Close()
	client.CloseIdleConnections()
	s.log.clear()
	until(t, "nothing of an erased tenant can be reached", func() bool { // the goroutines of closed connections need a moment
		found := reachable(t, texts)
		if len(found) > 0 {
			t.Logf("can be reached: %v", found)
		}
		return len(found) == 0
	})
}
