package agentcore_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
)

var update = flag.Bool("update", false, "write the turns in testdata anew")

// turns are requests; each file in testdata holds them with their answers, byte for byte
// but for what the clock and chance decide.
var turns = map[string][]struct {
	path, body string
	headers    []string
}{
	"text":                  {{body: `{"prompt": "hello 世界 <b>"}`}},
	"text-as-json":          {{body: `{"prompt": "hello 世界 <b>"}`, headers: []string{"Accept", "application/json"}}},
	"text-on-request":       {{body: `{"prompt": "世界 🔍", "stream_options": ["data", "tool_use", "ascii"]}`}},
	"tools-over-two-cycles": {{body: `{"prompt": "use clock"}`}},
	"tools-on-request": {{
		body: `{"prompt": "use clock"}`, headers: []string{"X-Amzn-Bedrock-AgentCore-Runtime-Custom-Braid-Stream", "data, tool_use"},
	}},
	"parallel-tools":        {{body: `{"prompt": "use clock weather"}`}},
	"thinking":              {{body: `{"prompt": "think"}`}},
	"error-after-the-start": {{body: `{"prompt": "break now"}`}},
	"error-as-json": {
		{body: `{"prompt": "break now"}`, headers: []string{"Accept", "application/json"}},
		{path: "/runtimes/{arn}/invocations", body: `{"prompt": "break now"}`, headers: []string{"Accept", "application/json"}},
	},
	"error-before-the-start": {
		{body: `{"prompt": "hello"`},
		{path: "/runtimes/{arn}/invocations", body: `{"prompt": "hello"`},
		{body: `{"prompt": "hello", "model": "test:other"}`},
		{path: "/runtimes/{arn}/invocations", body: `{"prompt": "hello", "model": "test:other"}`},
	},
	"interrupt": {
		{body: `{"prompt": "use ask"}`},
		{body: `{"prompt": [{"interruptResponse": {"interruptId": "{id}", "response": true}}]}`},
	},
	"interrupt-as-json": {
		{body: `{"prompt": "use ask"}`, headers: []string{"Accept", "application/json"}},
		{body: `{"prompt": [{"interruptResponse": {"interruptId": "{id}", "response": true}}]}`, headers: []string{"Accept", "application/json"}},
	},
	"blocks": {{body: `{"input": {"prompt": [{"text": "a"}, {"text": "b"}]}}`}},
}

var (
	clocked   = regexp.MustCompile(`"(latencyMs|timeToFirstByteMs)": \d+`)
	interrupt = regexp.MustCompile(`"interrupts": \[\{"id": "([^"]+)"`)
)

// shown are the headers of an answer that a file holds.
var shown = []string{"Content-Type", sessionHeader, errorType, "Cache-Control"}

func TestTurns(t *testing.T) {
	t.Parallel()
	for name, requests := range turns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, nil)
			var got strings.Builder
			id := ""
			for _, q := range requests {
				path := strings.ReplaceAll(q.path, "{arn}", encoded(arn))
				if path == "" {
					path = "/invocations"
				}
				a := s.ask(http.MethodPost, path, strings.ReplaceAll(q.body, "{id}", id), q.headers...)
				if m := interrupt.FindStringSubmatch(a.body); m != nil {
					id = m[1]
				}
				fmt.Fprintf(&got, "-- POST %s --\n%s\n", strings.ReplaceAll(path, encoded(arn), "{arn}"), q.body)
				for i := 0; i < len(q.headers); i += 2 {
					fmt.Fprintf(&got, "%s: %s\n", q.headers[i], q.headers[i+1])
				}
				fmt.Fprintf(&got, "-- %d --\n", a.code)
				for _, h := range shown {
					if v := a.head.Get(h); v != "" {
						fmt.Fprintf(&got, "%s: %s\n", h, v)
					}
				}
				body := clocked.ReplaceAllString(a.body, `"$1": 0`)
				if id != "" {
					body = strings.ReplaceAll(body, id, "{id}")
				}
				got.WriteString("\n" + body + "\n")
			}
			file := filepath.Join("testdata", name+".txtar")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("the turn has changed (-want +got):\n%s", diff)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) != len(turns) {
		t.Errorf("there are %d files for %d turns (%v)", len(files), len(turns), err)
	}
}

// encoded is an ARN as SDKs write it into a path.
func encoded(arn string) string { return strings.NewReplacer(":", "%3A", "/", "%2F").Replace(arn) }

// What the operator chose for all is sent to who chooses nothing, and no other.
func TestStreamOptions(t *testing.T) {
	t.Parallel()
	s := open(t, func(_ *service.Options, o *agentcore.Options) { o.Stream = agentcore.Stream{Data: true} })
	s.say("hello").has(t, 200, `{"data": "you "`)
	if a := s.ask(http.MethodPost, "/invocations", `{"prompt": "hello", "stream_options": ["ascii"]}`); strings.Contains(a.body, `"data"`) {
		t.Error(a.body)
	}
	s.ask(http.MethodPost, "/invocations", `{"prompt": "hello", "stream_options": ["dta"]}`).has(t, 400, `there is no stream option \"dta\"`)
	list := []string{"data", "tool_use", "ascii"}
	if got, err := agentcore.ParseStream(list); err != nil || got != (agentcore.Stream{Data: true, ToolUse: true, ASCII: true}) {
		t.Error(got, err)
	}
	if !slices.Equal(list, []string{"data", "tool_use", "ascii"}) {
		t.Error("the list was changed")
	}
}
