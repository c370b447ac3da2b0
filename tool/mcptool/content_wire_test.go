package mcptool_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// way is a transport and an era: everything that is true of one must be of all.
type way struct {
	name     string
	protocol string
	config   func(t *testing.T) mcptool.Config
}

func web(t *testing.T, o *mcp.StreamableHTTPOptions) mcptool.Config {
	t.Helper()
	s := everything(nil)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	t.Cleanup(web.Close)
	return mcptool.Config{Name: "everything", URL: web.URL}
}

func ways() []way {
	child := func(mode string) func(*testing.T) mcptool.Config {
		return func(t *testing.T) mcptool.Config {
			t.Helper()
			c := program(t, mode)
			c.Name = "everything"
			return c
		}
	}
	return []way{
		{"pipe", "2026-07-28", func(t *testing.T) mcptool.Config { t.Helper(); return inside(t, "everything", everything(nil)) }},
		{"child", "2026-07-28", child("sdk")},
		{"old child", "2025-11-25", child("old")},
		{"http", "2026-07-28", func(t *testing.T) mcptool.Config {
			t.Helper()
			return web(t, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
		}},
		{"http, json", "2026-07-28", func(t *testing.T) mcptool.Config {
			t.Helper()
			return web(t, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true, JSONResponse: true})
		}},
		{"http, sessions", "2025-11-25", func(t *testing.T) mcptool.Config { t.Helper(); return web(t, nil) }},
		{"http, sessions, json", "2025-11-25", func(t *testing.T) mcptool.Config {
			t.Helper()
			return web(t, &mcp.StreamableHTTPOptions{JSONResponse: true})
		}},
		{"sse", "2025-11-25", func(t *testing.T) mcptool.Config {
			t.Helper()
			s := everything(nil)
			web := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
			t.Cleanup(web.Close)
			return mcptool.Config{Name: "everything", URL: web.URL, SSE: true}
		}},
	}
}

func TestEveryWayGivesTheSame(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("あ", 1000)
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			o := patient()
			o.TextBytes = 2000
			s := connect(t, o, w.config(t))
			st := s.Status()[0]
			if st.State != mcptool.StateConnected || st.Server != "everything" || st.Version != "1.2.3" || st.Tools != len(s.Tools()) {
				t.Errorf("status is %+v", st)
			}
			if st.Protocol != w.protocol {
				t.Errorf("the protocol is %s, want %s", st.Protocol, w.protocol)
			}
			spec := toolOf(t, s, "echo").Spec()
			want := model.ToolSpec{
				Name: "echo", Description: "does echo",
				// As the server wrote it: in its order, with all digits.
				Schema: []byte(`{"type":"object","properties":{"zebra":{"type":"string"},"ape":{"type":"number","maximum":9007199254740993}}}`),
			}
			if d := cmp.Diff(want, spec); d != "" {
				t.Error(d)
			}
			for name, want := range map[string]tool.Output{
				"echo":  tool.Text(`{"zebra":"x","ape":9007199254740993}`),
				"image": {Content: []event.Block{&event.Text{Text: "look"}, &event.Image{MIME: "image/png", Data: onePixel}}},
				"audio": {Content: []event.Block{&event.Media{Media: "audio", MIME: "audio/wav", URL: "data:audio/wav;base64,cmlmZg=="}}},
				"file":  {Content: []event.Block{&event.Document{Name: "notes.md", MIME: "text/markdown", Text: "# notes"}}},
				"blob":  {Content: []event.Block{&event.Document{Name: "b.pdf", MIME: "application/pdf", Data: []byte("%PDF")}}},
				"photo": {Content: []event.Block{&event.Image{MIME: "image/png", Data: onePixel}}},
				"link":  tool.Text("[resource demo://doc · doc · text/plain · a document]"),
				"empty": {},
				"fail":  {IsError: true, Content: []event.Block{&event.Text{Text: "no such city"}}},
				"numbers": {
					Content: []event.Block{&event.Text{Text: "two"}}, Structured: []byte(`{"z":9007199254740993,"a":1.50}`),
				},
				"structured": {Structured: []byte(`{"ok":true}`)},
				"refuse":     {IsError: true, Content: []event.Block{&event.Text{Text: "Error: zebra is missing"}}},
				"long": tool.Text(long[:1998] +
					"\n[cut: this text is 3000 bytes long, of which the first 2000 are shown]"),
			} {
				got, err := call(t, s, name, `{"zebra":"x","ape":9007199254740993}`)
				if err != nil {
					t.Errorf("%s: %v (%v)", name, err, cause(err))
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s: %s", name, d)
				}
			}
		})
	}
}

// A result that is none must not pass for one, and one that is only strange is one.
func TestOddResults(t *testing.T) {
	t.Parallel()
	s := connect(t, patient(), program(t, "odd"))
	for name, want := range map[string]tool.Output{
		"unknown": {Content: []event.Block{&event.Text{Text: `{"type":"hologram","beam":[1,2]}`}, &event.Text{Text: "and text"}}},
		"wrong": {Content: []event.Block{
			&event.Text{Text: `{"type":"image","data":"!!"}`}, &event.Text{Text: `{"type":"text","text":5}`},
			&event.Text{Text: `{"type":"resource"}`}, &event.Text{Text: "7"},
		}},
		"surrogate": {Structured: []byte(`{"a":"` + "\uFFFD" + `"}`)},
		"none":      {},
	} {
		got, err := call(t, s, name, "{}")
		if err != nil {
			t.Errorf("%s: %v (%v)", name, err, cause(err))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if out, err := call(t, s, "list", "{}"); event.KindOf(err) != event.ErrInvalid {
		t.Errorf("a result that is a list gives %+v, %v", out, err)
	}
	if out, err := call(t, s, "input", "{}"); event.KindOf(err) != event.ErrUnsupported {
		t.Errorf("a result that is a question gives %+v, %v", out, err)
	}
	if got := text(t, s, "call", "{}"); got != "call" {
		t.Errorf("afterwards a call gives %q", got)
	}
}

func TestElicitation(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		if w.name == "http, sessions, json" || w.name == "http, json" {
			continue // there is no way for the server to ask in the older era
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			o := patient()
			o.Elicit = func(_ context.Context, q mcptool.Question) (mcptool.Reply, error) {
				if q.Server != "everything" || q.Message != "Which city?" || !strings.Contains(string(q.Schema), `"city"`) {
					t.Errorf("the question is %+v", q)
				}
				return mcptool.Reply{Action: "accept", Content: map[string]any{"city": "Lisbon"}}, nil
			}
			if got := text(t, connect(t, o, w.config(t)), "ask", "{}"); got != "you said Lisbon" {
				t.Errorf("the tool says %q", got)
			}
			// Where nobody can be asked, the call fails and nothing hangs.
			out, err := call(t, connect(t, patient(), w.config(t)), "ask", "{}")
			if err == nil && !out.IsError {
				t.Errorf("unasked, the tool says %+v", out)
			}
		})
	}
}
