package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

// A conversation with a model that signs its thinking continues after changes between two
// invocations of the command. Changed instructions and tools are sent inside the conversation, and
// no thinking is omitted. Each invocation is a process of its own.
func TestContinueWithBoundThinking(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("This is a long message. ", 120)
	for name, c := range map[string]struct {
		// args are those of the first invocation, of the second, and so on. The last ones are used
		// for all later invocations.
		args   [][]string
		prompt string
		// drops is set if thinking must be omitted, shorter if a summary must be made.
		drops, shorter bool
	}{
		"nothing changes": {prompt: "Hello."},
		"tools":           {args: [][]string{{"--tools", "calculator"}}, prompt: "call:calculator"},
		"summaries":       {args: [][]string{{"--context-tokens", "6000"}}, prompt: long, drops: true, shorter: true},
		"summaries and then no limit": {
			args: [][]string{{"--context-tokens", "3000"}, nil, {"--context-tokens", "3000"}, {"--context-tokens", "3000"}, {"--context-tokens", "3000"}, nil},

			prompt: long, drops: true, shorter: true,
		},
		"a window":      {args: [][]string{{"--context", "window", "--window", "4"}}, prompt: "Hello.", drops: true},
		"a tool search": {args: [][]string{{"--tools", "all", "--tool-search", "1"}}, prompt: "call:find_tools"},
		"instructions": {
			args: [][]string{{"--instructions", "Today is Monday."}, {"--instructions", "Today is Tuesday."}, nil}, prompt: "Hello.",
		},
		"other tools": {args: [][]string{{"--tools", "calculator"}, {"--tools", "all"}}, prompt: "call:calculator"},
		"a schema": {
			args: [][]string{nil, {"--schema", `{"type":"object","properties":{"below":{"type":"array","items":{"type":"string"}}}}`}},

			prompt: "Hello.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendor := anthropictest.StartPreserved(say)
			defer vendor.Close()
			data := t.TempDir()
			dropped, shortened := false, false
			for i := range 9 {
				args := []string{"run", "--json", "--data", data, "--model", "anthropic:claude-sonnet-5-5"}
				if n := len(c.args); n > 0 {
					args = append(args, c.args[min(i, n-1)]...)
				}
				if i > 0 {
					args = append(args, "--continue")
				}
				p, out, errs := testProcess(t, map[string]string{"ANTHROPIC_API_KEY": anthropictest.Key, "ANTHROPIC_BASE_URL": vendor.URL},
					append(args, fmt.Sprint(c.prompt, " ", i))...)
				p.openRef = nil
				if code := p.run(t.Context()); code != 0 {
					t.Fatalf("invocation %d: exit code %d\n%s", i+1, code, errs)
				}
				dropped = dropped || strings.Contains(out.String(), `"thinking_dropped":`)
				shortened = shortened || strings.Contains(out.String(), `"kind":"`+string(event.KindCompacted)+`"`)
				if strings.Contains(out.String(), `"thinking_refused":`) {
					t.Errorf("invocation %d had to ask twice", i+1)
				}
			}
			thinking := 0
			for i, r := range vendor.Asked() {
				if r.Refused != "" {
					t.Errorf("request %d is refused: %s", i+1, r.Refused)
				}
				if strings.Contains(string(r.Body), `"type":"thinking"`) {
					thinking++
				}
			}
			if dropped != c.drops || (c.shorter && !shortened) || (thinking == 0) {
				t.Errorf("left out: %v, shortened: %v, %d of %d requests with thinking", dropped, shortened, thinking, len(vendor.Asked()))
			}
		})
	}
}

// say thinks and answers, and calls the named tool.
func say(told *anthropictest.Told) []anthropictest.Part {
	thought := anthropictest.Part{Thinks: true, Text: fmt.Sprint("Message ", told.Messages)}
	switch {
	case told.Held || strings.Contains(told.System, "schema"):
		return []anthropictest.Part{thought, {Text: `{"below":[]}`}}
	case told.Results > 0:
		return []anthropictest.Part{{Text: "I have it."}, {Thinks: true}, {Text: "So it is."}}
	case strings.Contains(told.Last, "call:calculator") && told.Offers("calculator"):
		return []anthropictest.Part{thought, {Tool: "calculator", Args: `{"expression":"1+2"}`}}
	case strings.Contains(told.Last, "call:find_tools") && told.Offers("find_tools"):
		return []anthropictest.Part{thought, {Tool: "find_tools", Args: fmt.Sprintf(`{"query":"%s"}`, []string{"time", "file", "sum"}[told.Messages%3])}}
	default:
		return []anthropictest.Part{thought, {Text: "This is what I say."}}
	}
}
