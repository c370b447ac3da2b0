package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// plain is a tool of the program's own.
type plain struct{ name, about string }

func (p plain) Spec() tool.Spec {
	return tool.Spec{Name: p.name, Description: p.about, Schema: json.RawMessage(`{"type":"object"}`)}
}

func (plain) Call(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, nil }

// guest is an optional tool.
type guest struct {
	plain

	left *[]string
}

func (guest) Server() string { return "inn" }

func (g guest) LeftOut(model string, why error) {
	*g.left = append(*g.left, g.name+"/"+model+": "+why.Error())
}

// offer returns an offer of tools.
func offer(t *testing.T, tools ...tool.Tool) *Offer {
	t.Helper()
	o := Empty.Draft()
	for _, one := range tools {
		if err := o.Add("a", one, one.Spec()); err != nil {
			t.Fatal(err)
		}
	}
	o.Done()
	return o
}

// many returns n tools called t0, t1 and so on.
func many(n int) (tools []tool.Tool) {
	for i := range n {
		tools = append(tools, plain{name: fmt.Sprint("t", i), about: fmt.Sprint("Does number", i, ". And more.")})
	}
	return tools
}

func TestOfferFindsTools(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, manyTools - 1, manyTools, 3 * manyTools} {
		o := offer(t, many(n)...)
		for i := range n {
			if name := fmt.Sprint("t", i); o.Find(name) != i || o.Tool(name).Spec().Name != name {
				t.Errorf("of %d tools, %s is at %d", n, name, o.Find(name))
			}
		}
		if o.Find("other") != -1 || o.Tool("other") != nil {
			t.Errorf("of %d tools, one is found that is not there", n)
		}
	}
}

func TestDraftChangesNoOffer(t *testing.T) {
	t.Parallel()
	o := offer(t, many(12)...)
	o.Children = append(o.Children, o.Tools[3])
	next := o.Draft()
	next.Remove([]string{"t0", "t3", "other"})
	if err := next.Add("a", plain{name: "new"}, plain{name: "new"}.Spec()); err != nil {
		t.Fatal(err)
	}
	next.Done()
	if len(o.Names) != 12 || o.Find("t0") != 0 || len(o.Children) != 1 || o.Find("new") != -1 {
		t.Errorf("the first offer has %v", o.Names)
	}
	if len(next.Names) != 11 || next.Find("t0") != -1 || next.Find("t1") != 0 || next.Find("new") != 10 || len(next.Children) != 0 {
		t.Errorf("the next offer has %v", next.Names)
	}
}

func TestDoneKnowsTheOffer(t *testing.T) {
	t.Parallel()
	poll := tool.Func("poll", "Polls.", func(context.Context, struct{}) (string, error) { return "", nil }, tool.Polling())
	o := Empty.Draft()
	for _, one := range []tool.Tool{plain{name: "child"}, poll} {
		if err := o.Add("a", one, one.Spec()); err != nil {
			t.Fatal(err)
		}
	}
	o.Children = o.Tools[:1:1]
	o.Done()
	if !slices.Equal(o.Agents, []string{"child"}) || !slices.Equal(o.Polling, []string{"poll"}) || o.Tokens <= 0 {
		t.Errorf("agents %v, polling %v, %d tokens", o.Agents, o.Polling, o.Tokens)
	}
}

func TestAddRefusesTools(t *testing.T) {
	t.Parallel()
	again := tool.Func("again", "Tries again.", func(context.Context, struct{}) (string, error) { return "", nil },
		tool.Retries(tool.Retry{Attempts: 3}))
	pure := tool.Func("pure", "Tries again.", func(context.Context, struct{}) (string, error) { return "", nil },
		tool.Retries(tool.Retry{Attempts: 3}), tool.Pure())
	o := offer(t, plain{name: "taken"})
	for _, bad := range []tool.Tool{plain{name: "taken"}, plain{name: "no name"}, again} {
		if err := o.Add("a", bad, bad.Spec()); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s was added with %v", bad.Spec().Name, err)
		}
	}
	if err := o.Add("a", pure, pure.Spec()); err != nil || !slices.Equal(o.Names, []string{"taken", "pure"}) {
		t.Errorf("%v, and the tools are %v", err, o.Names)
	}
}

func TestOptionalToolsGiveWay(t *testing.T) {
	t.Parallel()
	var left []string
	o := offer(t, guest{plain{name: "read"}, &left}, plain{name: "write"})
	if err := o.Add("a", plain{name: "read", about: "ours"}, plain{name: "read", about: "ours"}.Spec()); err != nil {
		t.Fatal(err)
	}
	if err := o.Add("a", guest{plain{name: "write"}, &left}, plain{name: "write"}.Spec()); err == nil {
		t.Error("an optional tool took the name of another")
	}
	if len(left) != 1 || !strings.HasPrefix(left[0], "read/: ") || len(o.Missing) != 1 || !slices.Equal(o.Names, []string{"write", "read"}) {
		t.Errorf("left out: %q; the tools are %v", left, o.Names)
	}
	servers := o.Skipped("m", []event.ToolServer{{Name: "inn"}, {Name: "other"}})
	if s := servers[0].Skipped; len(s) != 1 || s[0].Tool != "read" || s[0].Why != `two tools are called "read"` || servers[1].Skipped != nil {
		t.Errorf("the log has %+v", servers)
	}
}

func TestToolsOfOneModelOnly(t *testing.T) {
	t.Parallel()
	var left []string
	var tools []tool.Tool
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		tools = append(tools, guest{plain{name: name}, &left})
	}
	o := offer(t, append(tools, plain{name: "own"})...)
	refuses := func(names ...string) func([]model.ToolSpec) error {
		return func(tools []model.ToolSpec) error {
			for _, one := range tools {
				if slices.Contains(names, one.Name) {
					return &event.Error{Kind: event.ErrInvalid, Message: "no " + one.Name}
				}
			}
			return nil
		}
	}
	if _, err := o.Suiting("", refuses("own", "b")); err == nil || err.Error() == "" || !strings.Contains(err.Error(), "no own") {
		t.Errorf("a tool that is not optional was refused with %v", err)
	}
	out, err := o.Suiting("a", refuses("b", "e"))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.LeaveFor("m", out); err != nil || len(left) != 3 {
		t.Errorf("%v, and the tools were told %q", err, left)
	}
	o.Narrow.Store(&map[string][]SetAside{"m": out})
	for m, want := range map[string][]string{"m": {"c", "d", "own"}, "other": o.Names} {
		if specs, names := o.Told(m, o.Specs, o.Names); !slices.Equal(names, want) || len(specs) != len(want) {
			t.Errorf("the model %s is told of %v", m, names)
		}
	}
	if len(o.Names) != 6 {
		t.Errorf("the offer has become %v", o.Names)
	}
	req := &model.Request{Tools: o.Specs}
	if o.Untell(req, "m"); len(req.Tools) != 3 || len(o.Specs) != 6 {
		t.Errorf("the request has %d tools", len(req.Tools))
	}
}

func TestSkippedToolsAreFew(t *testing.T) {
	t.Parallel()
	o := &Offer{}
	for range mostSkipped + 5 {
		o.Missing = append(o.Missing, SetAside{
			server: "inn", name: "\xff" + strings.Repeat("é", 200), why: errors.New(strings.Repeat("why ", 200)),
		})
	}
	s := o.Skipped("m", []event.ToolServer{{Name: "inn"}})[0].Skipped
	if len(s) != mostSkipped+1 || s[mostSkipped].Why != "and 5 more" {
		t.Fatalf("%d tools, the last of which is %+v", len(s), s[len(s)-1])
	}
	if one := s[0]; len(one.Tool) > mostSkippedName || len(one.Why) > mostSkippedWhy || !strings.HasPrefix(one.Tool, "\uFFFDé") {
		t.Errorf("a skipped tool is %+v", one)
	}
}

func TestShownToolsGrowAtTheEnd(t *testing.T) {
	t.Parallel()
	o := offer(t, append(many(6), plain{name: FindTool})...)
	o.Agents = []string{"t4"}
	names := func(specs []model.ToolSpec) (names []string) {
		for _, s := range specs {
			names = append(names, s.Name)
		}
		return names
	}
	s := &Search{Above: 5, Always: []string{"t2"}, Results: 2}
	shown := s.Show(o)
	if !shown.Of(o) || shown.Of(o.Draft()) || (*Shown)(nil).Of(o) {
		t.Error("what is shown is of another offer")
	}
	for _, c := range []struct{ found, want []string }{
		{nil, []string{"t2", "t4", FindTool}},
		{[]string{"t5"}, []string{"t2", "t4", FindTool, "t5"}},
		{[]string{"t5", "t2", "gone", "t0"}, []string{"t2", "t4", FindTool, "t5", "t0"}},
		{[]string{"t5", "t2", "gone", "t0"}, []string{"t2", "t4", FindTool, "t5", "t0"}},
	} {
		if got := names(shown.With(s, c.found)); !slices.Equal(got, c.want) {
			t.Errorf("found %v shows %v, want %v", c.found, got, c.want)
		}
	}
	few := &Search{Above: 6}
	if got := names(few.Show(o).With(few, []string{"t1"})); !slices.Equal(got, o.Names[:6]) || few.On(o) || (*Search)(nil).On(o) {
		t.Errorf("few tools are shown as %v", got)
	}
}

func TestSearchFindsTools(t *testing.T) {
	t.Parallel()
	o := offer(t, plain{FindTool, "Finds tools."}, plain{"mail_send", "Sends a letter. It costs."}, plain{"mail_read", "Reads a letter."},
		plain{"mail_burn", "Burns a letter."}, plain{"sum", "Adds numbers."})
	s := &Search{Always: []string{"mail_read"}, Results: 5}
	found, text := s.Find(o, "letter", func(name string) bool { return name == "mail_burn" })
	want := "You can call these now:\n- mail_send: Sends a letter."
	if diff := cmp.Diff([]string{"mail_send"}, found); diff != "" || text != want {
		t.Errorf("found %v with %q", found, text)
	}
	none := func(string) bool { return false }
	if found, text := s.Find(o, "weather", none); found != nil || !strings.HasPrefix(text, "No tool fits.") {
		t.Errorf("found %v with %q", found, text)
	}
	// Another offer gets another index.
	if found, _ := s.Find(offer(t, plain{"weather", "Tells it."}), "weather", none); !slices.Equal(found, []string{"weather"}) {
		t.Errorf("found %v in the next offer", found)
	}
}
