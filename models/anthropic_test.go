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

// What a reference says of a request holds for requests that say nothing else.
func TestAnthropicSettings(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"?effort=low":                       `"output_config":{"effort":"low"}`,
		"?effort=none":                      `"thinking":{"type":"between_tools"}`,
		"?show=yes":                         `"thinking":{"type":"adaptive","display":"summarized"}`,
		"?thinking=show":                    `"thinking":{"type":"adaptive","display":"summarized"}`,
		"?effort=max&thinking=show":         `"display":"summarized"`,
		"?tier=standard_only":               `"service_tier":"standard_only"`,
		"?cache=hour":                       `"cache_control":{"type":"ephemeral","ttl":"1h"}`,
		"?cache=off":                        `"max_tokens":32000,"stream":true}`,
		"?beta=fast-mode-2026-02-01":        "",
		"?version=2023-06-01":               "",
		"-4-5?version=2023-06-01&top_p=0.5": `"top_p":0.5`,
		"-4-5?thinking=2000":                `"budget_tokens":2000`,
	} {
		server := anthropictest.Start(anthropictest.Text("Hello."))
		name := "anthropic:claude-sonnet-5-5"
		if strings.HasPrefix(settings, "-") {
			name = "anthropic:claude-sonnet"
		}
		m, err := openIn(env("ANTHROPIC_API_KEY", anthropictest.Key, "ANTHROPIC_BASE_URL", server.URL), name+settings)
		if err != nil {
			t.Errorf("%s: %v", settings, err)
			server.Close()
			continue
		}
		req := &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hi."}}}}}
		for _, err := range m.Stream(t.Context(), req) {
			if err != nil {
				t.Errorf("%s: %v", settings, err)
			}
		}
		asked := server.Asked()
		if len(asked) != 1 || !strings.Contains(string(asked[0].Body), want) {
			t.Errorf("%s: %s, want %s", settings, asked[0].Body, want)
		}
		if beta := asked[0].Header.Get("Anthropic-Beta"); strings.Contains(settings, "beta=") != (beta == "fast-mode-2026-02-01") {
			t.Errorf("%s: beta %q", settings, beta)
		}
		if version := asked[0].Header.Get("Anthropic-Version"); strings.Contains(settings, "version=") != (version == "2023-06-01") {
			t.Errorf("%s: version %q", settings, version)
		}
		server.Close()
	}
	for settings, kind := range map[string]event.ErrorKind{
		"claude-sonnet-5-5?effort=much": event.ErrInvalid, "claude-sonnet-5-5?thinking=0": event.ErrInvalid, "claude-sonnet-5-5?top_p=2": event.ErrInvalid,
		"claude-sonnet-5-5?tier=flex": event.ErrInvalid, "claude-sonnet-5-5?version=new": event.ErrInvalid, "claude-sonnet-5-5?beta=a b": event.ErrInvalid,
		"claude-sonnet-5-5?top_p=0.5": event.ErrUnsupported, "claude-opus-5-5?effort=none": event.ErrUnsupported,
		"claude-sonnet-4-5?effort=xhigh": event.ErrUnsupported,
	} {
		if _, err := openIn(env("ANTHROPIC_API_KEY", "k"), "anthropic:"+settings); !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %s", settings, err, kind)
		}
	}
}
