package agentcore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/agentcore"
)

func summary(t *testing.T, lines ...string) *agentcore.Summary {
	t.Helper()
	s, err := agentcore.Summarize(strings.NewReader(strings.Join(lines, "\n\n") + "\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A stream tells a text up to three times, and a tool up to four: each counts once.
func TestNothingCountsTwice(t *testing.T) {
	t.Parallel()
	start := `data: {"event": {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "tooluse_NHP8c04pTzWPVL0iGUHDhA", "name": "aws___search_documentation"}}, "contentBlockIndex": 1}}}`
	copied := `data: {"data": "Bedrock Agent", "delta": {"text": "Bedrock Agent"}}`
	for name, lines := range map[string][]string{
		"the seed's":           append(seedTurn(), theResult),
		"with copies":          {seedMessage, seedDelta, copied, start, seedStop, seedMetadata, seedWhole, theResult},
		"announced twice":      {seedMessage, seedDelta, seedToolUse, seedToolUse, seedStop, seedMetadata, seedWhole, theResult},
		"announced after":      {seedMessage, seedDelta, seedStop, seedMetadata, seedWhole, seedToolUse, theResult},
		"announced only":       {seedMessage, seedDelta, seedStop, seedMetadata, seedToolUse, theResult},
		"copies only":          {copied, seedMetadata, seedToolUse, theResult},
		"whole only":           {seedMetadata, seedWhole, theResult},
		"announced by name":    {seedMessage, seedDelta, `data: {"tool_name": "AWS Documentation Search", "type": "tool_use"}`, seedStop, seedMetadata, seedWhole, theResult},
		"an attempt that fell": {seedMessage, seedDelta, seedMessage, seedDelta, seedStop, seedMetadata, seedWhole, theResult},
	} {
		s := summary(t, lines...)
		if s.Text() != "Bedrock Agent" || len(s.Tools) != 1 || s.Cycles != 1 || s.Usage.Total != 1760 || len(s.Anomalies) != 0 {
			t.Errorf("%s: text %q, %d tools, %d cycles, %+v, %v", name, s.Text(), len(s.Tools), s.Cycles, s.Usage, s.Anomalies)
			continue
		}
		u := s.Tools[0]
		icon, title := u.Label()
		if u.ID != seedCall || u.Name != "aws___search_documentation" || string(u.Input) != `{"search_phrase":"Bedrock AgentCore","limit":10}` ||
			icon != "🔍" || title != "AWS Documentation Search" {
			t.Errorf("%s: the tool is %+v", name, u)
		}
	}
}

const seedCall = "tooluse_NHP8c04pTzWPVL0iGUHDhA"

func TestSummaryOverCycles(t *testing.T) {
	t.Parallel()
	s := summary(t, append(seedTurn(),
		`data: {"message": {"role": "user", "content": [{"toolResult": {"toolUseId": "`+seedCall+`", "status": "error", "content": [{"text": "no"}]}}]}}`,
		seedStart, seedStart, seedStartLoop, seedMessage,
		`data: {"event": {"contentBlockDelta": {"delta": {"text": "だめ"}, "contentBlockIndex": 0}}}`,
		`data: {"event": {"messageStop": {"stopReason": "end_turn"}}}`, seedMetadata,
		`data: "'MCPAgentTool' object is not serializable"`,
		`data: {"message": {"role": "assistant", "content": [{"text": "だめ"}]}}`,
	)...)
	if s.Text() != "Bedrock Agent\n\nだめ" || s.Cycles != 2 || s.Latency != 2*2617*time.Millisecond || s.Stop != "end_turn" || !s.Complete {
		t.Errorf("%q %d %v %q %v", s.Text(), s.Cycles, s.Latency, s.Stop, s.Complete)
	}
	if diff := cmp.Diff(event.Usage{Input: 3286, Output: 234, Total: 3520}, s.Usage); diff != "" {
		t.Error(diff)
	}
	if len(s.Tools) != 1 || s.Tools[0].Result == nil || !s.Tools[0].Result.IsError {
		t.Errorf("the tools are %+v", s.Tools)
	}
	if len(s.Anomalies) != 1 || s.Anomalies[0].Anomaly != agentcore.MCPAgentTool {
		t.Errorf("the anomalies are %+v", s.Anomalies)
	}
}

// Two calls of one message are two, also of one tool with one input, and without ids.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	use := func(id string) string {
		return `{"toolUse": {"toolUseId": "` + id + `", "name": "look", "input": {"a": 1}}}`
	}
	for name, c := range map[string]struct {
		lines []string
		want  int
	}{
		"ids":             {[]string{`data: {"message": {"role": "assistant", "content": [` + use("1") + `, ` + use("2") + `]}}`}, 2},
		"bare announced":  {[]string{`data: {"tool_name": "look", "type": "tool_use"}`, `data: {"message": {"role": "assistant", "content": [` + use("1") + `, ` + use("2") + `]}}`}, 2},
		"later cycle":     {[]string{`data: {"message": {"role": "assistant", "content": [` + use("") + `]}}`, `data: {"message": {"role": "assistant", "content": [` + use("") + `]}}`}, 2},
		"no id, repeated": {[]string{`data: {"tool_name": "look", "type": "tool_use", "debug_data": {"message": {"content": [` + use("") + `]}}}`, `data: {"message": {"role": "assistant", "content": [` + use("") + `]}}`}, 1},
	} {
		if s := summary(t, c.lines...); len(s.Tools) != c.want {
			t.Errorf("%s: %d tools, want %d", name, len(s.Tools), c.want)
		}
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"aws___search_documentation": "🔍 AWS Documentation Search",
		"aws___read_documentation":   "📖 AWS Documentation Reader",
		"aws___recommend":            "💡 AWS Documentation Recommendations",
		"aws___other":                "🔧 aws___other",
		"計算":                         "🔧 計算",
		"":                           "🔧 Unknown Tool",
	} {
		icon, title := agentcore.TitleOf(name)
		if got := icon + " " + title; got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	nameless := summary(t, `data: {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "input": {}}}]}}`)
	if icon, title := nameless.Tools[0].Label(); icon+title != "🔧Unknown Tool" {
		t.Errorf("a nameless tool is %s %s", icon, title)
	}
}
