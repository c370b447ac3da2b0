package models

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

func TestAnthropicIsReadFromTheEnvironment(t *testing.T) {
	t.Parallel()
	server := anthropictest.Start(anthropictest.Text("Hello."), anthropictest.Text("Hello."))
	t.Cleanup(server.Close)
	vars := env("ANTHROPIC_API_KEY", " "+anthropictest.Key+"\n", "ANTHROPIC_BASE_URL", server.URL)
	for _, ref := range []string{"", "anthropic:claude-haiku-5-5"} {
		m, err := openIn(vars, ref)
		if err != nil {
			t.Fatal(err)
		}
		want := "anthropic:claude-sonnet-5-5"
		if ref != "" {
			want = ref
		}
		if info := m.Info(); info.Name != want || info.Simulated {
			t.Errorf("%q: %+v", ref, info)
		}
		if shown := fmt.Sprintf("%v %+v %#v %s", m, m, m, Detect(vars, "")); strings.Contains(shown, "sk-ant") {
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
	if n := len(server.Asked()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestAWrongAddressNamesItsVariable(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"api.example.com", "ftp://x", "https://user:pw@host", "http://", "https://h?x=1"} {
		m, err := openIn(env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", base), "anthropic")
		if m != nil || !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), "ANTHROPIC_BASE_URL") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v", base, err)
		}
	}
}
