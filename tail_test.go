package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidrun/braid/model"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// A store that knows how much of a log is needed gives the same conversation as one that
// gives the whole log: what the model sees, the state, the questions and the next request.
func TestATailIsAsGoodAsTheWholeLog(t *testing.T) {
	t.Parallel()
	const shards = 4
	logs := 1200
	if testing.Short() || race.On {
		logs = 200
	}
	var cut, reworded atomic.Int64
	t.Run("logs", func(t *testing.T) {
		t.Parallel()
		for shard := range shards {
			t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
				t.Parallel()
				store := openSQLite(t)
				for seed := range logs / shards {
					w := newLogWriter(t, uint64(seed*shards+shard), store)
					w.write()
					w.compare()
					tail, err := store.Tail(t.Context(), w.conv)
					if err != nil {
						t.Fatal(err)
					}
					if tail.First > 1 {
						cut.Add(1)
						if w.compactions > 0 {
							reworded.Add(1)
						}
					}
					if t.Failed() {
						t.Fatalf("seed %d, the tail begins at %d of %d in session %d:\n%s", w.seed, tail.First, tail.Last, tail.Session, w.log())
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		// Logs that are read as a whole show nothing.
		if cut.Load() < int64(logs/4) || reworded.Load() < int64(logs/8) {
			t.Errorf("of %d logs, %d were cut and %d of these by a compaction", logs, cut.Load(), reworded.Load())
		}
	})
}

// whole is a store that leaves nothing out of the ends of logs.
type whole struct{ journal.Store }

func (s whole) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	events, err := s.Read(ctx, conversation, 0, 0)
	return journal.Tail{First: 1, Last: int64(len(events)), Events: events}, err
}

func (s whole) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	t, err := s.Tail(ctx, conversation)
	return journal.StoredTail{Tail: t}, err
}

func openSQLite(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// logWriter writes a random log as drivers of this and of other versions may leave it, into two stores.
type logWriter struct {
	*testing.T
	*rand.Rand
	seed uint64
	conv string
	// tailed can cut its logs, copied cannot.
	tailed *sqlite.Store
	copied *journal.Memory

	run    string
	seq    int64
	events []*event.Event
	all    []*event.Event
	cycle  int
	scopes int
	// session counts from 1 and began at first; messages are the places in it of what the
	// root said or was told.
	session  int
	first    int64
	messages []int64
	// from is where this log's compactions of a session's beginning begin: at its first
	// event, or at the first one that anybody sees.
	from        int64
	open        bool
	compactions int
}

func newLogWriter(t *testing.T, seed uint64, store *sqlite.Store) *logWriter {
	r := rand.New(rand.NewPCG(seed, 9))
	return &logWriter{
		T: t, Rand: r, seed: seed, conv: fmt.Sprint("c", seed), tailed: store, copied: &journal.Memory{},
		session: 1, first: 1, from: r.Int64N(2),
	}
}

func (w *logWriter) one(n int) bool { return w.IntN(n) == 0 }

func (w *logWriter) text(what string) []event.Block {
	return []event.Block{&event.Text{Text: fmt.Sprint(what, w.seq+1, " ")}}
}

func (w *logWriter) add(scope, step string, body event.Body) {
	w.seq++
	h := event.Header{Seq: w.seq, Conversation: w.conv, Run: w.run, Scope: scope, Step: step, Author: "desk"}
	if step != "" {
		h.Attempt, h.Cycle = 1, w.cycle
	}
	if scope == "" {
		switch body.(type) {
		case *event.UserMessage, *event.AssistantMessage:
			w.messages = append(w.messages, w.seq)
		}
	}
	w.events = append(w.events, &event.Event{Header: h, Body: body})
}

// write writes some runs, of which the last one may be open.
func (w *logWriter) write() {
	runs := 2 + w.IntN(6)
	for n := range runs {
		w.oneRun(n+1, n == runs-1 && w.one(4))
	}
}

func (w *logWriter) oneRun(turn int, open bool) {
	w.run = fmt.Sprint(w.conv, "-", turn)
	w.events, w.cycle, w.scopes = nil, 0, 0
	if turn > 1 && w.one(6) {
		w.session++
		w.first, w.messages = w.seq+1, nil
	}
	w.add("", "", &event.RunStarted{Agent: "desk", Session: w.session, Turn: turn})
	w.add("", "", &event.UserMessage{Content: w.text("q")})
	for range w.IntN(3) {
		w.tools(false)
		w.between()
	}
	status := event.RunWaiting
	if open {
		w.tools(true)
	} else {
		w.say("", []event.Block{&event.Text{Text: fmt.Sprint("a", w.seq, " ")}}, event.StopEndTurn)
		w.between()
		status = []event.RunStatus{event.RunCompleted, event.RunCompleted, event.RunFailed, event.RunCancelled}[w.IntN(4)]
		w.add("", "", &event.RunEnded{Status: status})
	}
	w.open = open
	w.all = append(w.all, w.events...)
	for _, s := range []journal.Store{w.tailed, w.copied} {
		o := w.begin(s)
		if err := s.Commit(w.Context(), o.Lease, journal.Batch{Events: w.events, Status: status}); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *logWriter) begin(s journal.Store) journal.Opened {
	if _, err := s.Admit(w.Context(), journal.Run{ID: w.run, Conversation: w.conv, Agent: "desk"}); err != nil {
		w.Fatal(err)
	}
	o, err := s.Acquire(w.Context(), w.run, 1<<40)
	if err != nil {
		w.Fatal(err)
	}
	return o
}

// say is a model call of a scope.
func (w *logWriter) say(scope string, content []event.Block, stop event.StopReason) {
	w.cycle++
	step := fmt.Sprint("m", w.cycle)
	if scope != "" {
		step = scope + "/" + step
	}
	w.add(scope, step, &event.StepBegun{Step: event.StepModel})
	w.add(scope, step, &event.AssistantMessage{Content: content, Stop: stop})
}

// tools is a cycle with calls; of one that stays open the last call asks.
func (w *logWriter) tools(open bool) {
	n := 1 + w.IntN(2)
	var content []event.Block
	if w.one(2) {
		content = w.text("let me see")
	}
	calls := make([]string, n)
	for i := range calls {
		calls[i] = fmt.Sprint("call", w.seq, "_", i)
		content = append(content, &event.ToolCall{ID: calls[i], Name: "t", Args: json.RawMessage(`{"x":1}`)})
	}
	w.say("", content, event.StopToolUse)
	cycle := w.cycle
	for i, id := range calls {
		step := fmt.Sprint("t", cycle, ".", i)
		w.cycle = cycle
		w.add("", step, &event.StepBegun{Step: event.StepTool, Call: id, Tool: "t", Effect: event.EffectUnsafe})
		if open && i == n-1 {
			w.add("", step, &event.Asked{Token: "token " + id, Ask: event.AskApproval, Call: id, Tool: "t"})
			break
		}
		if w.one(4) {
			w.scopes++
			w.child(fmt.Sprint("s", w.scopes), id)
			w.cycle = cycle
		}
		if w.one(2) {
			w.change()
		}
		w.add("", step, &event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: id, Name: "t", Content: w.text("r")},
		})
		w.compact(12)
	}
	w.cycle = cycle
}

// child is an agent that a call waits for.
func (w *logWriter) child(id, call string) {
	w.add("", "", &event.ScopeOpened{ID: id, Call: call, Agent: "child", Depth: 1, Input: w.text("in")})
	w.cycle = 0
	from := w.seq
	w.say(id, w.text("child"), event.StopEndTurn)
	if w.one(3) {
		w.add(id, "", &event.Compacted{From: from, To: w.seq, Summary: w.text("of the child")})
	}
	w.add("", "", &event.ScopeClosed{ID: id})
}

func (w *logWriter) change() {
	key := fmt.Sprint("k", w.IntN(3))
	if w.one(3) {
		w.add("", "", &event.StateChanged{Delete: []string{key}})
		return
	}
	w.add("", "", &event.StateChanged{Set: map[string]json.RawMessage{key: json.RawMessage(fmt.Sprint(w.seq))}})
}

// between is what may stand between two cycles.
func (w *logWriter) between() {
	if w.one(5) {
		w.add("", "", &event.UserMessage{Content: w.text("by the way"), Mail: fmt.Sprint("letter ", w.seq)})
	}
	if w.one(6) {
		r := &event.Redacted{Target: 1 + w.Int64N(w.seq)}
		if w.one(2) {
			r.Replacement = w.text("instead")
		}
		w.add("", "", r)
	}
	w.compact(3)
}

// compact replaces a part of the session by a summary, once in n times: its beginning, or some
// stretch of it, whatever earlier ones have done.
func (w *logWriter) compact(n int) {
	if !w.one(n) || w.seq < w.first+2 {
		return
	}
	w.compactions++
	from := w.first + w.from
	if w.one(3) {
		from = w.messages[w.IntN(len(w.messages))]
	}
	from = min(from, w.seq)
	to := max(from+w.Int64N(w.seq-from+1), w.first+1)
	c := &event.Compacted{From: from, To: to, Summary: w.text("S")}
	switch {
	case w.one(3):
		c.Cut, c.Summary = true, nil
	case w.one(2):
		for _, seq := range w.messages {
			if seq >= from && seq <= to && w.one(2) {
				c.Keep = append(c.Keep, seq)
			}
		}
	}
	w.add("", "", c)
}

// compare opens the conversation in both ways.
func (w *logWriter) compare() {
	tail, whole := braid.Open(w.tailed, w.conv), braid.Open(whole{w.tailed}, w.conv)
	same(w.T, "messages", w.Context(), tail.Messages, whole.Messages)
	same(w.T, "state", w.Context(), tail.State, whole.State)
	same(w.T, "questions", w.Context(), tail.Questions, whole.Questions)
	if w.open {
		return
	}
	same(w.T, "the next request", w.Context(), w.request(w.tailed), w.request(w.copied))
}

// request plays a run and gives what its model was shown.
func (w *logWriter) request(s journal.Store) func(context.Context) ([]event.Message, error) {
	return func(ctx context.Context) (seen []event.Message, err error) {
		agent := braid.New("desk", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
			seen = req.Messages
			return chunks(says("done"))
		}})
		_, err = agent.Run(ctx, "next", braid.In(braid.Open(s, w.conv)))
		return seen, err
	}
}

func (w *logWriter) log() string {
	var sb strings.Builder
	for _, e := range w.all {
		line, err := event.AppendJSON(nil, e)
		if err != nil {
			w.Fatal(err)
		}
		sb.Write(append(line, '\n'))
	}
	return sb.String()
}

func same[T any](t *testing.T, what string, ctx context.Context, tail, whole func(context.Context) (T, error)) { //nolint:revive // the test comes first
	t.Helper()
	got, err := tail(ctx)
	want, wantErr := whole(ctx)
	if err != nil || wantErr != nil {
		t.Fatal(what, err, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s of the whole log, and of the tail:\n%s", what, diff)
	}
}

// counting counts the events that a store hands out.
type counting struct {
	*sqlite.Store
	events int
}

func (s *counting) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	t, err := s.Store.Tail(ctx, conversation)
	s.events += len(t.Events)
	return t, err
}

func (s *counting) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	t, err := s.Store.StoredTail(ctx, conversation)
	s.events += len(t.Events)
	return t, err
}

func (s *counting) Read(ctx context.Context, conversation string, after int64, most int) ([]*event.Event, error) {
	events, err := s.Store.Read(ctx, conversation, after, most)
	s.events += len(events)
	return events, err
}

func (s *counting) Start(ctx context.Context, r journal.Run, have int64) (journal.Opened, error) {
	o, err := s.Store.Start(ctx, r, have)
	s.events += len(o.Events)
	return o, err
}

func (s *counting) Acquire(ctx context.Context, run string, have int64) (journal.Opened, error) {
	o, err := s.Store.Acquire(ctx, run, have)
	s.events += len(o.Events)
	return o, err
}

// A conversation of 10,000 events is opened by reading what stands behind its last compaction; one that
// was never compacted is read whole, and opens as well.
func TestALongConversationOpens(t *testing.T) {
	t.Parallel()
	if race.On {
		t.Skip("make test opens it without the race detector")
	}
	const long, behind = 10_000, 100
	for _, c := range []struct {
		name    string
		compact bool
		most    int
		shown   string
	}{
		{"with a compaction", true, behind + 20, "the summary"},
		{"without one", false, long + 20, "question 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := openSQLite(t)
			w := newLogWriter(t, 0, store)
			for turn := 1; w.seq < long; turn++ {
				w.plain(turn, c.compact && w.seq >= long-behind && w.compactions == 0)
			}
			counted := &counting{Store: store}
			conv := braid.Open(counted, w.conv)
			seen := 0
			agent := braid.New("desk", &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
				seen = len(req.Messages)
				if text := req.Messages[0].Text(); !strings.HasPrefix(text, c.shown) {
					t.Errorf("the model is shown %q first", text)
				}
				return chunks(says("done"))
			}})
			if _, err := agent.Run(t.Context(), "next", braid.In(conv)); err != nil {
				t.Fatal(err)
			}
			if counted.events > c.most || counted.events < behind/2 || c.compact != (seen < behind) {
				t.Errorf("%d events were read for a request of %d messages, want at most %d", counted.events, seen, c.most)
			}
			// Warm, nothing is read again.
			counted.events = 0
			if _, err := agent.Run(t.Context(), "next", braid.In(conv)); err != nil || counted.events > 0 {
				t.Errorf("the second run has read %d events: %v", counted.events, err)
			}
		})
	}
}

// plain writes a run of a question and an answer, and a summary of all before it where it is to.
func (w *logWriter) plain(turn int, compact bool) {
	w.run, w.cycle, w.events = fmt.Sprint(w.conv, "-", turn), 0, nil
	before := w.seq
	w.add("", "", &event.RunStarted{Agent: "desk", Session: 1, Turn: turn})
	w.add("", "", &event.UserMessage{Content: []event.Block{&event.Text{Text: fmt.Sprint("question ", turn)}}})
	if compact {
		w.compactions++
		w.add("", "", &event.Compacted{From: 1, To: before, Summary: []event.Block{&event.Text{Text: "the summary"}}})
	}
	w.say("", w.text("a"), event.StopEndTurn)
	w.add("", "", &event.RunEnded{Status: event.RunCompleted})
	o := w.begin(w.tailed)
	if err := w.tailed.Commit(w.Context(), o.Lease, journal.Batch{Events: w.events, Status: event.RunCompleted}); err != nil {
		w.Fatal(err)
	}
}
