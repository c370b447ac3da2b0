package models

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai/openaitest"
)

func TestOpenAIIsReadFromTheEnvironment(t *testing.T) {
	t.Parallel()
	server := openaitest.Start(openaitest.Text(openaitest.Chat, "Hello."), openaitest.Text(openaitest.Chat, "Hello."))
	t.Cleanup(server.Close)
	vars := env("OPENAI_API_KEY", " "+openaitest.Key+"\n", "OPENAI_BASE_URL", server.URL)
	for ref, want := range map[string]string{"": "openai:gpt-6.1-sol", "openai:gpt-4o": "openai:gpt-4o"} {
		m, err := openIn(vars, ref)
		if err != nil {
			t.Fatal(err)
		}
		if info := m.Info(); info.Name != want || info.Simulated {
			t.Errorf("%q: %+v", ref, info)
		}
		if shown := fmt.Sprintf("%v %+v %#v %s", m, m, m, Detect(vars, "")); strings.Contains(shown, "sk-proj") {
			t.Errorf("the key is shown: %s", shown)
		}
		said := ""
		req := &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hi."}}}}}
		for c, err := range m.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind == model.ChunkText {
				said += c.Text
			}
		}
		if said != "Hello." {
			t.Errorf("it says %q", said)
		}
	}
	for _, r := range server.Asked() {
		if r.Path != "/v1/chat/completions" || r.Refused != "" {
			t.Errorf("%s: %s", r.Path, r.Refused)
		}
	}
}

// Another server may want no key; Ollama has none, and has its own name.
func TestServersWithoutAKey(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"openai:Qwen/Qwen3-8B": "openai:Qwen/Qwen3-8B", "ollama:qwen3:8b": "ollama:qwen3:8b", "ollama:gpt-oss": "ollama:gpt-oss",
	} {
		m, err := openIn(env("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"), ref)
		if err != nil || m.Info().Name != want || m.Info().ContextWindow != 0 {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestAWrongAddressOfOpenAINamesItsVariable(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"api.example.com", "ftp://x", "https://user:pw@host", "http://", "https://h?x=1"} {
		m, err := openIn(env("OPENAI_API_KEY", "k", "OPENAI_BASE_URL", base), "openai")
		if m != nil || !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "OPENAI_BASE_URL") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v", base, err)
		}
	}
}
