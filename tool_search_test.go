package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// catalogued is one of many tools, as an MCP server lists them.
type catalogued struct{ name, about string }

func (l *catalogued) Spec() model.ToolSpec {
	return model.ToolSpec{Name: l.name, Description: l.about + ". It asks the service and gives what that answers.", Schema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","description":"where the service runs, such as eu-west-1"},` +
			`"filter":{"type":"string","description":"what to leave out of the answer"},"limit":{"type":"integer","description":"how many to give at most"}},` +
			`"required":["region"]}`)}
}

func (l *catalogued) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Text("from " + l.name), nil
}

// manyTools are 200, of which one is about each subject and verb.
func manyTools() []braid.Tool {
	var list []braid.Tool
	for _, of := range []string{
		"invoice", "bucket", "queue", "table", "user", "role", "cluster", "volume", "image", "alarm",
		"topic", "function", "certificate", "domain", "gateway", "secret", "budget", "report", "snapshot", "pipeline",
	} {
		for _, do := range []string{"list", "create", "delete", "describe", "update", "tag", "export", "share", "restore", "audit"} {
			list = append(list, &catalogued{do + "_" + of, strings.ToUpper(do[:1]) + do[1:] + "s a " + of})
		}
	}
	return list
}

func specBytes(specs []model.ToolSpec) (n int) {
	for i := range specs {
		n += len(specs[i].Name) + len(specs[i].Description) + len(specs[i].Schema)
	}
	return n
}

func specNames(specs []model.ToolSpec) string {
	var names []string
	for i := range specs {
		names = append(names, specs[i].Name)
	}
	return strings.Join(names, " ")
}

// A model finds what it needs among 200 tools, for a tenth of what they would cost, and
// every call is shown what the one before was, and maybe more behind it.
func TestAModelFindsItsTools(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	naive := 0
	for _, tool := range manyTools() {
		naive += specBytes([]model.ToolSpec{tool.Spec()})
	}
	var seen [][]model.ToolSpec
	run := func(turns ...[]model.Chunk) *braid.Result {
		t.Helper()
		m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			seen = append(seen, req.Tools)
			if n := specBytes(req.Tools); 10*n > naive {
				t.Errorf("the tools are %d bytes of %d", n, naive)
			}
			return chunks(turns[min(req.Cycle, len(turns))-1])
		}}
		agent := braid.New("a", m, braid.Tools(manyTools()...), braid.SearchTools(braid.ToolSearch{Always: []string{"audit_role"}, Results: 3}))
		result, err := agent.Run(t.Context(), "go", braid.In(braid.Open(store, "c")))
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	first := run(
		asksFor("find_tools", `{"query":"delete old snapshots"}`), asksFor("delete_snapshot", `{"region":"x"}`),
		asksFor("find_tools", `{"query":"exporting the invoices"}`, "find_tool", `{}`), asksFor("share_secret", `{"region":"x"}`), asksFor("nonsense", `{}`), says("done"))
	for i, want := range []string{
		"audit_role find_tools",
		"audit_role find_tools delete_snapshot list_snapshot create_snapshot",
		"audit_role find_tools delete_snapshot list_snapshot create_snapshot",
		"audit_role find_tools delete_snapshot list_snapshot create_snapshot export_invoice list_invoice create_invoice",
		"audit_role find_tools delete_snapshot list_snapshot create_snapshot export_invoice list_invoice create_invoice share_secret",
	} {
		if got := specNames(seen[i]); got != want {
			t.Errorf("call %d is shown %s, want %s", i+1, got, want)
		}
	}
	for i := 1; i < len(seen); i++ {
		if !slices.EqualFunc(seen[i-1], seen[i][:len(seen[i-1])], func(a, b model.ToolSpec) bool { return a.Name == b.Name }) {
			t.Errorf("what call %d is shown does not begin with what the one before was", i+1)
		}
	}
	if &seen[1][0] != &seen[2][0] {
		t.Error("nothing was found between two calls, and their lists are not one")
	}
	for tool, want := range map[string]string{
		"find_tools":      "You can call these now:\n- export_invoice: Exports a invoice.\n- list_invoice: Lists a invoice.\n- create_invoice: Creates a invoice.",
		"delete_snapshot": "from delete_snapshot", "share_secret": "from share_secret",
		"nonsense": `Error: there is no tool called "nonsense"; find one with find_tools.`,
	} {
		if got := resultOf(t, first.Conversation, tool); got != want {
			t.Errorf("%s gave %q", tool, got)
		}
	}
	// Another process, a later run: what was found is still shown, by the log alone.
	last := specNames(seen[len(seen)-1])
	seen = nil
	run(says("again"))
	if got := specNames(seen[0]); got != last {
		t.Errorf("the next run is shown %s", got)
	}
	// A new session begins anew.
	seen = nil
	agent := braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		seen = append(seen, req.Tools)
		return chunks(says("hi"))
	}}, braid.Tools(manyTools()...), braid.SearchTools(braid.ToolSearch{}))
	if _, err := agent.Run(t.Context(), "go", braid.In(braid.Open(store, "c")), braid.NewSession()); err != nil || specNames(seen[0]) != "find_tools" {
		t.Errorf("%v: a new session is shown %s", err, specNames(seen[0]))
	}
}

// Few tools are shown as they are, also where tools come and go.
func TestFewToolsNeedNotBeFound(t *testing.T) {
	t.Parallel()
	var seen []string
	agent := braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		seen = append(seen, specNames(req.Tools))
		return chunks(says("hi"))
	}}, braid.SearchTools(braid.ToolSearch{Above: 2}), braid.Tools(manyTools()[:2]...))
	run := func(want string) {
		t.Helper()
		if _, err := agent.Run(t.Context(), "go"); err != nil || seen[len(seen)-1] != want {
			t.Errorf("%v: the model is shown %s", err, seen)
		}
	}
	run("list_invoice create_invoice")
	if err := agent.AddTools(manyTools()[2]); err != nil {
		t.Fatal(err)
	}
	run("find_tools")
	agent.RemoveTools("list_invoice")
	run("create_invoice delete_invoice")
}

// many is a source that says when its tools are too many to be shown.
type many struct{ n, above int }

func (s many) Tools() []tool.Tool { return manyTools()[:s.n] }
func (many) Instructions() string { return "" }
func (s many) SearchAbove() int   { return s.above }

// A source with very many tools lets the model search, unless the agent says when to search.
func TestASourceWithManyTools(t *testing.T) {
	t.Parallel()
	all := braid.SearchTools(braid.ToolSearch{Above: 1000})
	for name, c := range map[string]struct {
		parts []braid.Part
		want  string
	}{
		"few":                   {[]braid.Part{braid.From(many{2, 2})}, "list_invoice create_invoice"},
		"many":                  {[]braid.Part{braid.From(many{3, 2})}, "find_tools"},
		"many in two sources":   {[]braid.Part{braid.From(many{3, 2}), braid.From(renamed{many{3, 2}})}, "find_tools"},
		"a number before them":  {[]braid.Part{all, braid.From(many{3, 2})}, "list_invoice create_invoice delete_invoice"},
		"a number behind them":  {[]braid.Part{braid.From(many{3, 2}), all}, "list_invoice create_invoice delete_invoice"},
		"a source of few kinds": {[]braid.Part{braid.From(struct{ tool.Source }{many{3, 2}})}, "list_invoice create_invoice delete_invoice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen string
			agent := braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				seen = specNames(req.Tools)
				return chunks(says("hi"))
			}}, c.parts...)
			if _, err := agent.Run(t.Context(), "go"); err != nil || seen != c.want {
				t.Errorf("%v: the model is shown %s, want %s", err, seen, c.want)
			}
		})
	}
}

// renamed is a source whose tools have other names.
type renamed struct{ many }

func (s renamed) Tools() (tools []tool.Tool) {
	for _, t := range s.many.Tools() {
		tools = append(tools, tool.Func("other_"+t.Spec().Name, "", func(context.Context, struct{}) (string, error) { return "", nil }))
	}
	return tools
}

// Words find tools by their names, descriptions and parameters.
func TestWhatWordsFind(t *testing.T) {
	t.Parallel()
	tools := append(manyTools(), &catalogued{"getPricingServiceCodes", "Names the services that have prices"}, &catalogued{"weather_jp", "東京の天気を調べる"})
	for query, want := range map[string]string{
		"delete_bucket": "delete_bucket", "remove or delete a bucket": "delete_bucket", "TAG the images": "tag_image", "pricing": "getPricingServiceCodes",
		"天気": "weather_jp", "domains share": "share_domain", "": "", "xyzzy": "", "region": "any",
	} {
		args, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		agent := braid.New("a", answers(asksFor("find_tools", string(args)), says("ok")), braid.Tools(tools...), braid.SearchTools(braid.ToolSearch{}))
		result, err := agent.Run(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		got := resultOf(t, result.Conversation, "find_tools")
		switch {
		case want == "" && !strings.HasPrefix(got, "No tool fits"), want == "any" && !strings.HasPrefix(got, "You can"),
			want != "" && want != "any" && !strings.HasPrefix(got, "You can call these now:\n- "+want+":"):
			t.Errorf("%q finds %q", query, got)
		}
	}
}

// What a call has found is in the log, and an agent that shows all its tools writes nothing of it.
func TestFoundToolsAreInTheLog(t *testing.T) {
	t.Parallel()
	for _, search := range []bool{true, false} {
		parts := []braid.Part{braid.Tools(manyTools()...)}
		if search {
			parts = append(parts, braid.SearchTools(braid.ToolSearch{Results: 1}))
		}
		agent := braid.New("a", answers(asksFor("share_topic", `{"region":"x"}`), says("ok")), parts...)
		result, err := agent.Run(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range result.Conversation.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.StepEnded); ok && fmt.Sprint(b.Found) != map[bool]string{true: "[share_topic]", false: "[]"}[search] {
				t.Errorf("search %v: found %v", search, b.Found)
			}
		}
	}
}

// Where nothing is said, 20 tools are shown and 21 are looked for, and one search finds five: a tenth of the bytes of
// 200 tools.
func TestWhatAToolSearchDoesByItself(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{20: 20, 21: 1, 200: 1} {
		var seen [][]model.ToolSpec
		tools, naive := manyTools()[:n], 0
		for _, tool := range tools {
			naive += specBytes([]model.ToolSpec{tool.Spec()})
		}
		agent := braid.New("a", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			seen = append(seen, req.Tools)
			if req.Cycle == 1 {
				return chunks(asksFor("find_tools", `{"query":"an invoice or a bucket"}`))
			}
			return chunks(says("ok"))
		}}, braid.Tools(tools...), braid.SearchTools(braid.ToolSearch{}))
		if _, err := agent.Run(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if len(seen[0]) != want {
			t.Errorf("of %d tools %d are shown, want %d", n, len(seen[0]), want)
		}
		if want == 1 && len(seen[1]) != 1+5 {
			t.Errorf("of %d tools one search finds %d, want 5", n, len(seen[1])-1)
		}
		if used := specBytes(seen[1]); n == 200 && 10*used > naive {
			t.Errorf("after one search the tools are %d bytes of %d", used, naive)
		}
	}
}
