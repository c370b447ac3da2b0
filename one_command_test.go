package braid

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/internal/compact"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/model"
)

// One log gives one command. These tests fold a log event by event, from scratch and traced, and compare what next says of
// each open scope. They also compare a scope before and after next was asked.

// managements are the ways to manage under which next is asked about logs of unmanaged runs.
var managements = []Management{
	{By: KeepAll{}}, {By: SlidingWindow(2)}, {By: Summarize{}, Context: 30}, {By: Summarize{}, Context: 400, At: 0.5}, {At: -1},
}

// commands says what next decides for each open scope. Where it is to look at the scopes, it fails if asking
// changes one.
func commands(v *fold.Conversation, agentOf func(name string) *Agent, look bool) (string, error) {
	if v.Run == nil || v.Run.Ended != nil {
		return "", nil
	}
	var sb strings.Builder
	for _, s := range v.Run.Scopes {
		if s.Closed != nil {
			continue
		}
		in := inputs{Agent: agentOf(s.Agent), Now: v.Run.At, earlier: &v.Spent}
		in.answer = in.Agent.answer
		before := ""
		if look {
			before = deep(s)
		}
		cmd := next(s, in)
		if look {
			if after := deep(s); after != before {
				return "", fmt.Errorf("asking changed scope %q from\n%s\nto\n%s", s.ID, before, after)
			}
		}
		fmt.Fprintf(&sb, "%q does %d because of %q, stop %q, until %v, say %q, err %s:", s.ID, cmd.Do, cmd.Why, cmd.Stop, cmd.Until.UnixNano(), cmd.say, deep(cmd.Err))
		for _, c := range cmd.calls {
			sb.WriteString(" " + c.Step)
		}
		sb.WriteString("\n")
	}
	return sb.String(), nil
}

// oneCommand folds a log in several ways and compares the commands at every length that is chosen.
func oneCommand(log []*event.Event, agentOf func(name string) *Agent, chosen func(n int) bool) error {
	warm := fold.New(nil)
	for n, e := range log {
		if warm.Add(e); warm.Stale {
			warm = fold.New(log[:n+1])
		}
		if !chosen(n + 1) {
			continue
		}
		got, err := commands(warm, agentOf, true)
		if err != nil {
			return fmt.Errorf("after event %d: %w", n+1, err)
		}
		for how, other := range map[string]*fold.Conversation{
			"from scratch": fold.New(log[:n+1]),
			"traced":       fold.FromTail(&fold.Tail{First: 1, Events: log[:n+1]}, true),
		} {
			want, err := commands(other, agentOf, false)
			if err != nil {
				return fmt.Errorf("after event %d, %s: %w", n+1, how, err)
			}
			if got != want {
				return fmt.Errorf("after event %d, folded event by event\n%sand %s\n%s", n+1, got, how, want)
			}
		}
	}
	return nil
}

// managed are agents that are managed in these ways.
var managed = sync.OnceValue(func() (agents []*Agent) {
	for i := range managements {
		agents = append(agents, New("root", &planModel{}, Manage(managements[i]), AsTool(New("sub", &planModel{}), "")))
	}
	return agents
})

// underAll asks with every way to manage.
func underAll(log []*event.Event, chosen func(n int) bool) error {
	for i, agent := range managed() {
		if err := oneCommand(log, func(string) *Agent { return agent }, chosen); err != nil {
			return fmt.Errorf("managed by %+v: %w", managements[i], err)
		}
	}
	return nil
}

func always(int) bool { return true }

func TestOneLogGivesOneCommand(t *testing.T) {
	t.Parallel()
	for _, c := range nextCases {
		if err := underAll(c.log.log, always); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Every journal of every version that was frozen gives one command at every event.
func TestFrozenJournalsGiveOneCommand(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("test/frozen/testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no frozen journal", err)
	}
	for _, file := range files {
		logs := frozenLogs(t, file)
		if len(logs) < 5 {
			t.Errorf("%s has %d conversations", file, len(logs))
		}
		for name, log := range logs {
			if err := underAll(log, always); err != nil {
				t.Errorf("%s, conversation %s: %v", file, name, err)
			}
		}
	}
}

// frozenLogs reads the events of a frozen journal, by conversation.
func frozenLogs(t *testing.T, file string) map[string][]*event.Event {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	logs := map[string][]*event.Event{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return logs
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(h.Name) != "events.jsonl" {
			continue
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			e := &event.Event{}
			if err := e.UnmarshalJSON(lines.Bytes()); err != nil {
				t.Fatal(err)
			}
			logs[e.Conversation] = append(logs[e.Conversation], e)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// tightPlan is a run whose conversation does not fit its model.
type tightPlan struct {
	manage   int
	capacity int64 // what the model takes, in estimated tokens
	context  int
	cycles   int
	input    int
	result   int
	counts   bool
	sumFails event.ErrorKind
	cancels  bool
	asks     int // the cycle before which a hook asks a question
	child    bool
	warm     bool // the next driver goes on with the fold of the one before
}

func drawTight(t *rapid.T) *tightPlan {
	return &tightPlan{
		manage:   rapid.IntRange(0, 4).Draw(t, "manage"),
		capacity: int64(rapid.SampledFrom([]int{20, 100, 300, 100000}).Draw(t, "capacity")),
		context:  rapid.SampledFrom([]int{20, 100, 300}).Draw(t, "context"),
		cycles:   rapid.IntRange(1, 5).Draw(t, "cycles"),
		input:    rapid.SampledFrom([]int{1, 60, 300}).Draw(t, "input"),
		result:   rapid.SampledFrom([]int{1, 60, 300}).Draw(t, "result"),
		counts:   rapid.Bool().Draw(t, "counts"),
		sumFails: rapid.SampledFrom([]event.ErrorKind{"", "", "", event.ErrThrottled, event.ErrInvalid}).Draw(t, "summary"),
		cancels:  rapid.IntRange(0, 3).Draw(t, "cancels") == 0,
		asks:     rapid.IntRange(0, 4).Draw(t, "asks"),
		child:    rapid.Bool().Draw(t, "child"),
		warm:     rapid.Bool().Draw(t, "warm"),
	}
}

func (p *tightPlan) Info() ModelInfo {
	return ModelInfo{Name: "tight", Simulated: true, ContextWindow: p.context}
}

// Stream answers by the request alone, so that a driver after a crash meets the same model.
func (p *tightPlan) Stream(_ context.Context, req *ModelRequest) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		size := model.MessagesTokens(req.Messages)
		if req.Instructions == compact.Instructions {
			if p.sumFails == event.ErrInvalid || p.sumFails != "" && req.Attempt == 1 {
				yield(Chunk{}, &event.Error{Kind: p.sumFails, Message: "no summary"})
				return
			}
			for _, c := range []Chunk{{Kind: ChunkText, Text: "in short"}, {Kind: ChunkStop, Stop: event.StopEndTurn}} {
				if !yield(c, nil) {
					return
				}
			}
			return
		}
		if size > p.capacity {
			yield(Chunk{}, &event.Error{Kind: event.ErrContextOverflow, Message: "too long"})
			return
		}
		last := Chunk{Kind: ChunkStop, Stop: event.StopEndTurn}
		chunks := []Chunk{{Kind: ChunkText, Text: "done"}}
		if tools := len(req.Tools); req.Cycle < p.cycles && tools > 0 {
			name := req.Tools[req.Cycle%tools].Name
			args := `{}`
			if name == "sub" {
				args = `{"input":"help"}`
			}
			chunks = []Chunk{{Kind: ChunkCall, ID: fmt.Sprint("c", req.Cycle), Text: name}, {Kind: ChunkCallInput, Text: args}}
			last.Stop = event.StopToolUse
		}
		if p.counts {
			chunks = append(chunks, Chunk{Kind: ChunkUsage, Usage: &event.Usage{Input: size, Output: 1, Total: size + 1}})
		}
		for _, c := range append(chunks, last) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (p *tightPlan) agent() *Agent {
	m := []Management{
		{By: Summarize{Recent: 2}}, {By: SlidingWindow(3)}, {By: KeepAll{}}, {By: Summarize{Recent: -1}, At: 0.2}, {By: SlidingWindow(0)},
	}[p.manage]
	type none struct{}
	parts := func() []Part {
		list := []Part{
			Manage(m), Retries(Retry{Attempts: 3, Base: 1, Max: 1}), Limit(Limits{Cycles: 8}),
			Func("read", "Reads.", func(context.Context, none) (string, error) { return strings.Repeat("word ", p.result), nil }, Pure()),
		}
		if p.cancels {
			list = append(list, On(func(_ context.Context, e *hook.BeforeCompaction) error { e.Cancel = true; return nil }))
		}
		if p.asks > 0 {
			list = append(list, On(func(ctx context.Context, e *hook.BeforeModel) error {
				if e.Request.Cycle != p.asks {
					return nil
				}
				_, err := Ask[bool](ctx, "go on?")
				return err
			}))
		}
		return list
	}
	a := New("root", p, parts()...)
	if p.child {
		a.Use(AsTool(New("sub", p, parts()...), "Helps."))
	}
	return a
}

// play drives a run to its end, and answers what it asks. After each drive the fold that the driver leaves behind must give the
// commands that its log gives.
func (p *tightPlan) play(conv *Conversation, run func(*Agent) (*Result, error)) (*Result, error) {
	a := p.agent()
	team, err := a.team()
	if err != nil {
		return nil, err
	}
	agentOf := func(name string) *Agent {
		if name == "root" {
			return a
		}
		return team[name]
	}
	r, err := run(a)
	for range 12 {
		if r == nil {
			return nil, err
		}
		if bad := p.sameAsLog(conv, agentOf); bad != nil {
			return nil, bad
		}
		if r.Status.Ended() {
			return r, nil
		}
		for _, q := range r.Questions {
			if err := conv.Answer(deadlineless, q.Token, true); err != nil {
				return nil, err
			}
		}
		r, err = a.Resume(deadlineless, conv)
	}
	return nil, errors.New("it does not come to an end")
}

// sameAsLog compares what next says of the fold that a driver leaves behind with what it says of its log: at once, and once the
// open questions are answered.
func (p *tightPlan) sameAsLog(conv *Conversation, agentOf func(name string) *Agent) error {
	log, left := conv.logged(), conv.warm
	for _, answers := range []bool{false, true} {
		if answers && (p.warm || left.Run.Ended != nil) {
			return nil
		}
		if answers {
			conv.warm = nil // it gets ahead of its log
			for _, q := range left.Run.Questions {
				e := &event.Event{Header: event.Header{Seq: left.Last + 1, Run: left.Run.ID}, Body: &event.Answered{Token: q.Token, Value: []byte("true")}}
				left.Add(e)
				log = append(slices.Clip(log), e)
			}
		}
		got, err := commands(left, agentOf, true)
		if err != nil {
			return err
		}
		want, err := commands(fold.New(log), agentOf, false)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("the driver leaves\n%sits log gives\n%s%s", got, want, showLog(log))
		}
	}
	return nil
}

// TestOneLogOneCommandAfterACrash plays runs that are compacted and refused as too long. A new driver decides the same at
// every event, and the run comes to the same end.
func TestOneLogOneCommandAfterACrash(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawTight(t)
		input := strings.Repeat("word ", p.input)
		conv := planConversation()
		want, err := p.play(conv, func(a *Agent) (*Result, error) { return a.Run(deadlineless, input, In(conv)) })
		if err != nil {
			t.Fatal(err)
		}
		log := conv.logged()
		a := p.agent()
		team, _ := a.team()
		agentOf := func(name string) *Agent {
			if name == "root" {
				return a
			}
			return team[name]
		}
		if err := oneCommand(log, agentOf, always); err != nil {
			t.Fatalf("%v\n%s", err, showLog(log))
		}
		for n := 1; n < len(log); n++ {
			cut, err := cutLog(log[:n], []string{input})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.play(cut, func(a *Agent) (*Result, error) { return a.Resume(deadlineless, cut) })
			if err != nil {
				t.Fatalf("cut after event %d: %v\n%s", n, err, showLog(cut.logged()))
			}
			end, wanted := cut.logged()[len(cut.logged())-1], log[len(log)-1]
			if got.Stop != want.Stop || got.Why != want.Why || got.Text() != want.Text() ||
				deep(end.Body.(*event.RunEnded).Err) != deep(wanted.Body.(*event.RunEnded).Err) || compactedIn(cut.logged()) != compactedIn(log) {
				t.Fatalf("cut after event %d, it ends by %q because of %q and compacts %s, want %q, %q and %s\n%s---\n%s", n, got.Stop, got.Why,
					compactedIn(cut.logged()), want.Stop, want.Why, compactedIn(log), showLog(log), showLog(cut.logged()[n:]))
			}
		}
	})
}

// compactedIn lists the compactions of a log.
func compactedIn(log []*event.Event) string {
	var list []string
	for _, e := range log {
		if b, ok := e.Body.(*event.Compacted); ok {
			list = append(list, fmt.Sprint(e.Scope, b.Trigger, b.Cut))
		}
	}
	return strings.Join(list, " ")
}

// deep writes a value with everything that it points at, each pointer once.
func deep(v any) string {
	w := deepWriter{seen: map[place]int{}}
	w.write(reflect.ValueOf(v))
	return w.String()
}

type deepWriter struct {
	strings.Builder

	// seen numbers the pointers that were written.
	seen map[place]int
}

// place is what a pointer points at; the first field of a struct has the struct's address.
type place struct {
	address uintptr
	of      reflect.Type
}

func (w *deepWriter) write(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		w.WriteString("nil")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			w.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Pointer {
			at := place{v.Pointer(), v.Type()}
			if n, again := w.seen[at]; again {
				w.WriteString("again " + strconv.Itoa(n))
				return
			}
			w.seen[at] = len(w.seen)
		}
		w.write(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			fmt.Fprint(w, v)
			return
		}
		w.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				w.WriteString(v.Type().Field(i).Name + ":")
				w.write(f)
				w.WriteString(" ")
			}
		}
		w.WriteString("}")
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			w.WriteString(strconv.Quote(string(v.Bytes())))
			return
		}
		w.WriteString(strconv.Itoa(v.Len()) + "[")
		for i := range v.Len() {
			w.write(v.Index(i))
			w.WriteString(" ")
		}
		w.WriteString("]")
	case reflect.Map:
		w.writeMap(v)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprint(w, v.IsNil())
	case reflect.String:
		w.WriteString(v.String())
	default:
		fmt.Fprint(w, v)
	}
}

// writeMap writes a map in the order of its keys, so that a pointer in two values is first met in
// the same one each time.
func (w *deepWriter) writeMap(v reflect.Value) {
	values := map[string]reflect.Value{}
	for m := v.MapRange(); m.Next(); {
		values[fmt.Sprint(m.Key())] = m.Value()
	}
	w.WriteString("map[")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.WriteString(key + ":")
		w.write(values[key])
		w.WriteString(" ")
	}
	w.WriteString("]")
}
