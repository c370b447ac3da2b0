package corpora

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// before is what Braid read as it was recorded before this suite, by source and API: of 438
// streams that it had never seen, 12 were wrong by its own fault, and of the whole answers 60.
// Whole answers were put into the form of a stream then, so some counts are of other cases.
var before = map[bool]map[string]string{
	true: {
		"fantasy":     "28/28 anthropic, 10/10 invoke, 42/42 gemini, 152/152 chat, 39/39 responses",
		"pydantic-ai": "18/18 anthropic, 8/10 converse, 18/18 gemini, 65/71 chat, 36/38 responses",
		"ruby_llm":    "13/13 anthropic, 13/13 converse, 23/23 gemini, 51/62 chat, 22/23 responses",
		"ai":          "36/49 anthropic, 12/12 converse, 9/9 gemini, 23/24 chat, 49/55 responses",
	},
	false: {"all but fantasy": "391/391 anthropic, 3/3 invoke, 236/300 converse, 605/605 gemini, 624/749 chat, 427/456 responses"},
}

var (
	typedCall  = regexp.MustCompile(`"type"\s*:\s*"tool_use"`)
	itemObject = regexp.MustCompile(`"type"\s*:\s*"tool_search_call"`)
)

// fault names what Braid once read wrong in recordings as this one; "" is nothing.
func fault(x *exchange) string {
	switch {
	case x.source == "provider-recordings" || x.source == "fantasy":
		return ""
	case x.api == converseAPI && typedCall.Match(x.body) && (x.stream || bytes.Contains(x.body, []byte(`"toolUseId"`))):
		return "Converse: calls with a type were lost"
	case strings.Contains(x.file, "test_snowflake"):
		return "chat: no finish_reason (Snowflake)"
	case x.stream && x.source == "ruby_llm" && x.host == "api.perplexity.ai":
		return "chat: no [DONE] (Perplexity)"
	case x.stream && strings.Contains(x.file, "gpustack"):
		return "chat: no [DONE] (GPUStack)"
	case x.stream && x.source == "pydantic-ai" && x.host == "api.groq.com" && !bytes.Contains(x.request, []byte("stream_options")) &&
		bytes.Contains(x.body, []byte(`"usage":{`)):
		return "chat: usage in x_groq alone"
	case x.stream && strings.Contains(x.file, "bedrock_mantle_responses"):
		return "Responses: text given twice (Bedrock Mantle)"
	case x.stream && x.api == responsesAPI && itemObject.Match(x.body):
		return "Responses: arguments that are an object"
	}
	return ""
}

// faults counts the recordings that were read wrong before.
type faults struct {
	mu    sync.Mutex
	cells map[string][2]int
}

func (f *faults) add(x *exchange, right bool) {
	name := fault(x)
	if name == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cells == nil {
		f.cells = map[string][2]int{}
	}
	n := f.cells[name]
	n[1]++
	if right {
		n[0]++
	}
	f.cells[name] = n
}

// report says what was read before, and how the recordings behind its faults are read now.
func (f *faults) report(t *testing.T, streams bool) {
	t.Helper()
	var b strings.Builder
	for _, source := range slices.Sorted(maps.Keys(before[streams])) {
		fmt.Fprintf(&b, "\n%-20s%s", source, before[streams][source])
	}
	t.Logf("before:%s", &b)
	b.Reset()
	for _, name := range slices.Sorted(maps.Keys(f.cells)) {
		fmt.Fprintf(&b, "\n%4d/%-4d %s", f.cells[name][0], f.cells[name][1], name)
	}
	if len(f.cells) > 0 {
		t.Logf("what was wrong before is right now:%s", &b)
	}
}

// reasons lists the recordings that differ, under the reason of each.
func reasons(t *testing.T, known, differs map[string]string) {
	t.Helper()
	n := map[string]int{}
	for name := range differs {
		for pattern, why := range known {
			if strings.Contains(name, pattern) {
				n[why]++
				break
			}
		}
	}
	var b strings.Builder
	for _, why := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "\n%4d × %s", n[why], why)
	}
	if len(n) > 0 {
		t.Logf("otherwise, each with its reason:%s", &b)
	}
}
