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

// Settings behind the name are those of each request that does not set them itself.
func TestSettingsOfOpenAIByString(t *testing.T) {
	t.Parallel()
	seven := int64(7)
	for ref, tc := range map[string]struct {
		own  model.Options
		want []string
	}{
		"openai:gpt-5.5?api=responses&effort=max&verbosity=low&tier=flex&show=yes": {
			want: []string{`"reasoning":{"effort":"high","summary":"auto"}`, `"text":{"verbosity":"low"}`, `"service_tier":"flex"`},
		},
		"openai:gpt-5.5?api=responses&effort=max": {own: model.Options{Effort: "low"}, want: []string{`"reasoning":{"effort":"low"}`}},
		"openai:gpt-6.1-sol?api=responses&truncation=auto&compact=9000&cache_key=a&cache_retention=12h": {
			want: []string{`"truncation":"auto"`, `"compact_threshold":9000`, `"prompt_cache_key":"a"`, `"prompt_cache_options":{"ttl":"12h"}`},
		},
		"openai:gpt-4o?api=chat&top_p=0.5&seed=7&strict=yes": {want: []string{`"top_p":0.5,"seed":7`, `"strict":true`}},
		"openai:gpt-4o?api=chat&seed=1":                      {own: model.Options{Seed: &seven}, want: []string{`"seed":7`}},
		"openai:o3?api=responses&thinking=20000":             {want: []string{`"effort":"high"`}},
	} {
		server := openaitest.Start(openaitest.Answer{Body: "data: [DONE]\n\n"})
		t.Cleanup(server.Close)
		m, err := openIn(env("OPENAI_API_KEY", openaitest.Key), ref+"&base="+server.URL+"&key=OPENAI_API_KEY&reasons=yes")
		if strings.Contains(ref, "gpt-4o") {
			m, err = openIn(env("OPENAI_API_KEY", openaitest.Key), ref+"&base="+server.URL+"&key=OPENAI_API_KEY")
		}
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		req := &model.Request{
			Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hi."}}}}, Options: tc.own,
			Tools: []model.ToolSpec{{Name: "f", Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}},
		}
		var failed error
		for _, err := range m.Stream(t.Context(), req) {
			failed = err
		}
		asked := server.Asked()
		if len(asked) != 1 {
			t.Errorf("%s: %v", ref, failed)
			continue
		}
		for _, s := range tc.want {
			if got := string(asked[0].Body); !strings.Contains(got, s) {
				t.Errorf("%s: %s\nhas no %s", ref, got, s)
			}
		}
	}
	for _, ref := range []string{
		"openai:gpt-5?effort=huge", "openai:gpt-5?top_p=2", "openai:gpt-5?seed=x", "openai:gpt-5?verbosity=long", "openai:gpt-5?truncation=yes",
		"openai:gpt-5?compact=-1", "openai:gpt-5?cache_retention=2h", "openai:gpt-5?cache_key=a+b", "openai:gpt-5?strict=maybe", "openai:gpt-5?thinking=much",
	} {
		if _, err := openIn(env("OPENAI_API_KEY", "k"), ref); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
