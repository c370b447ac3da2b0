package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A model name from outside opens no file and no address, in any form and place: a run's body,
// AgentCore's payload, agents and sub-agents of the directory, tenants' models, and directory entries.
func TestHostileNamesOfModels(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	const canary = "OPENED-FROM-A-FILE"
	script := filepath.Join(data, "mine.yaml")
	for _, name := range []string{"mine.yaml", "mine.YAML", "mine.yml"} {
		if err := os.WriteFile(filepath.Join(data, name), []byte("rules: [{reply: "+canary+"}]"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := make(chan string, 64)
	outside := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path })}
	listener, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = outside.Serve(listener) }()
	defer outside.Close()
	address := "http://" + listener.Addr().String() + "/v1"

	var names []string
	for _, blank := range []string{" ", "\t", "\n", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u200b", "\u0085", "\u2028"} {
		names = append(names, blank+"demo:"+script, "demo:"+blank+script, "demo:"+script+blank, blank+"demo:/etc/shadow", "demo"+blank+":"+script)
	}
	names = append(names,
		"demo:"+script, "DEMO:"+script, "demo:"+filepath.Join(data, "mine.YAML"), "demo:mine.YAML", "demo:mine.yml", "demo:mine.yml?", "demo:./mine.yaml",
		`demo:.\mine.yaml`, "demo:"+script+"?speed=1", "demo:file://"+script, "demo:../data/mine.yaml", "demo:%2fetc%2fshadow", "demo?speed=1",
		"openai:x?base="+address, " openai:x?base="+address, "openai:x?api=chat&base="+address, "openai?base="+address,
		"openai:\u00a0x?base="+address, "gemini:../../x", "gemini:x/../../y", "bedrock:..", "openai:x#y", "openai:x%3Fbase="+address,
		"openai:x&base="+address, "openai:a//b", strings.Repeat("demo:a", 100),
	)

	s := serveIn(t, data, map[string]string{"OPENAI_API_KEY": "sk-of-the-operator", "GEMINI_API_KEY": "g-of-the-operator"},
		"--model", "demo", "--agentcore", "--tools", "none")
	refused := func(entry, name string, status int, answer string) {
		t.Helper()
		if status < 400 || (entry == "native" || entry == "agentcore") && !strings.Contains(answer, "model") || status >= 500 || strings.Contains(answer, canary) || strings.Contains(answer, "root:") || strings.Contains(answer, data) {
			t.Errorf("%s %q: %d %s", entry, name, status, answer)
		}
	}
	quote := func(name string) string {
		raw, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	conv := s.conversation("")
	s.must("", "POST", "/v1/admin/tenants/default/agents", `{"id":"above","sub_agents":{"below":{"instructions":"x"}}}`)
	said, err := json.Marshal(map[string]string{"agent": "above"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		status, answer := s.run("", conv, "hi", name)
		refused("native", name, status, answer)
		status, answer = s.ask("", "POST", "/invocations", `{"prompt":"hi","model":`+quote(name)+`}`)
		refused("agentcore", name, status, answer)
		// Names that the directory accepts must not open anything either.
		for entry, patch := range map[string]string{
			"agent":     `{"model":` + quote(name) + `}`,
			"sub-agent": `{"model":"","sub_agents":{"below":{"instructions":"x","model":` + quote(name) + `}}}`,
		} {
			if status, answer := s.ask("", "PATCH", "/v1/admin/tenants/default/agents/above", patch); status >= 400 {
				refused(entry, name, status, answer)
				continue
			}
			fresh, _ := s.must("", "POST", "/v1/conversations", string(said))["id"].(string)
			status, answer := s.run("", fresh, "hi", "")
			refused(entry, name, status, answer)
		}
		s.must("", "PATCH", "/v1/admin/tenants/default/agents/above", `{"model":"demo","sub_agents":{}}`)
		if status, answer := s.ask("", "PATCH", "/v1/admin/tenants/default", `{"default_model":`+quote(name)+`}`); status >= 400 {
			refused("tenant", name, status, answer)
		} else {
			status, answer = s.run("", conv, "hi", "")
			refused("tenant", name, status, answer)
		}
		s.must("", "PATCH", "/v1/admin/tenants/default", `{"default_model":""}`)
		provider, rest, _ := strings.Cut(name, ":")
		entry := `{"id":"entry","provider":` + quote(provider) + `,"name":` + quote(rest) + `}`
		if status, answer := s.ask("", "POST", "/v1/admin/tenants/default/models", entry); status >= 400 {
			refused("entry", name, status, answer)
			continue
		}
		status, answer = s.run("", conv, "hi", "entry")
		refused("entry", name, status, answer)
		s.must("", "DELETE", "/v1/admin/tenants/default/models/entry", "")
	}
	select {
	case path := <-asked:
		t.Errorf("an address that a name gave was asked for %s", path)
	default:
	}
	if status, answer := s.run("", conv, "hi", "demo:tour"); status != 200 {
		t.Errorf("a good name: %d %s", status, answer)
	}
}
