package braid

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/toolset"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// checkSetups holds the setups of a request against the request itself, and against those that
// another driver would find in the log.
func checkSetups(req *model.Request, log []*event.Event, takes bool) error {
	if !takes {
		if req.Setups != nil {
			return errors.New("the model takes no setups and is sent some")
		}
		return nil
	}
	for i, s := range req.Setups {
		switch {
		case i == 0 && s.From != 0:
			return fmt.Errorf("the first setup is from %d on", s.From)
		case i > 0 && s.From <= req.Setups[i-1].From:
			return fmt.Errorf("setup %d is from %d on, the one before from %d", i, s.From, req.Setups[i-1].From)
		case s.From >= len(req.Messages):
			return fmt.Errorf("setup %d is from %d on, of %d messages", i, s.From, len(req.Messages))
		case i > 0 && req.Messages[s.From].Role != event.RoleUser:
			return fmt.Errorf("setup %d is from %d on, an answer", i, s.From)
		case i > 0 && fold.SameSetup(&s, &req.Setups[i-1]):
			return fmt.Errorf("setup %d is the one before", i)
		}
	}
	if len(req.Setups) == 1 {
		return errors.New("one setup says nothing")
	}
	now := model.Setup{Instructions: req.Instructions, Tools: req.Tools}
	if n := len(req.Setups); n > 0 && !fold.SameSetup(&req.Setups[n-1], &now) {
		return fmt.Errorf("the last setup is not what the request says: %q", req.Setups[n-1].Instructions)
	}
	v := fold.New(log)
	if v.Run == nil || v.Run.ID != req.Run {
		return errors.New("the log knows nothing of the run")
	}
	found := v.Run.Scope(req.Scope).Transcript.Setups
	if len(found.List) == 0 {
		return errors.New("the log has no setup")
	}
	if last := found.Last(); !fold.SameSetup(last, &now) {
		return fmt.Errorf("the log's last setup is %q with %d tools, the request's %q with %d",
			last.Instructions, len(last.Tools), now.Instructions, len(now.Tools))
	}
	if len(found.List) == 1 {
		found.List = nil
	}
	if !reflect.DeepEqual(found.List, req.Setups) && len(found.List)+len(req.Setups) > 0 {
		return fmt.Errorf("the log's setups are %+v, the request's %+v", found.List, req.Setups)
	}
	return nil
}

// setupWorld is a conversation whose agent changes from run to run.
type setupWorld struct {
	*rand.Rand
	store *sqlite.Store
	id    string
	conv  *Conversation
	// under is the setup under which each answer was given, by its first text.
	under map[string]model.Setup
	n     int
	// masked says that the run's instructions hold a secret.
	masked bool
	faults []error
	// changed and most count requests with changes, and the most changes of one.
	changed, most int
}

func (w *setupWorld) one(n int) bool { return w.IntN(n) == 0 }

func (w *setupWorld) Info() model.Info {
	return model.Info{Name: "test:setups", Setups: true, ContextWindow: 4000}
}

func (w *setupWorld) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if req.Cycle == 0 || len(req.Messages) == 0 {
			w.faults = append(w.faults, errors.New("a call that is none"))
		}
		if len(req.Tools) == 0 && strings.Contains(req.Instructions, "summar") {
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "in short"}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
			return
		}
		if !w.masked {
			if err := errors.Join(checkSetups(req, w.log(), true), w.truth(req)); err != nil {
				w.faults = append(w.faults, fmt.Errorf("%w\n%s", err, showLog(w.log())))
			}
		} else if req.Setups != nil {
			w.faults = append(w.faults, errors.New("a setup with a secret is sent as one"))
		}
		w.most = max(w.most, len(req.Setups))
		if len(req.Setups) > 0 {
			w.changed++
		}
		w.n++
		text := "answer " + strconv.Itoa(w.n) + " " + strings.Repeat("x", w.IntN(900))
		switch w.IntN(12) {
		case 0:
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModel, Message: "broken"})
			return
		case 1:
			yield(model.Chunk{}, &event.Error{Kind: event.ErrOverloaded, Message: "busy"})
			return
		case 2:
			yield(model.Chunk{}, &event.Error{Kind: event.ErrContextOverflow, Message: "too long"})
			return
		}
		if !w.masked {
			w.under[text] = model.Setup{Instructions: req.Instructions, Tools: req.Tools}
		}
		list := []model.Chunk{{Kind: model.ChunkText, Text: text}}
		stop := event.StopEndTurn
		switch w.IntN(8) {
		case 0:
			stop = event.StopPause
		case 1, 2:
			if w.hasTool(req, toolset.FindTool) {
				list = append(list, model.Chunk{Kind: model.ChunkCall, Index: 1, ID: "c" + strconv.Itoa(w.n), Text: toolset.FindTool},
					model.Chunk{Kind: model.ChunkCallInput, Index: 1, Text: `{"query":"tool` + strconv.Itoa(w.IntN(6)) + `"}`})
				stop = event.StopToolUse
			}
		case 3, 4:
			list = append(list, model.Chunk{Kind: model.ChunkCall, Index: 1, ID: "c" + strconv.Itoa(w.n), Text: "tool" + strconv.Itoa(w.IntN(6))},
				model.Chunk{Kind: model.ChunkCallInput, Index: 1, Text: `{}`})
			stop = event.StopToolUse
		}
		for _, c := range append(list, model.Chunk{Kind: model.ChunkStop, Stop: stop}) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (w *setupWorld) hasTool(req *model.Request, name string) bool {
	return slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == name })
}

func (w *setupWorld) log() []*event.Event {
	log, err := w.store.Read(deadlineless, w.id, 0, 0)
	if err != nil {
		w.faults = append(w.faults, err)
	}
	return log
}

// truth holds what the setups say of each answer against what it was really given under. It is
// not told of an answer behind which the setups began anew.
func (w *setupWorld) truth(req *model.Request) error {
	setups := req.Setups
	if setups == nil {
		setups = []model.Setup{{Instructions: req.Instructions, Tools: req.Tools}}
	}
	given := map[string]int64{}
	anew, setup := int64(0), map[int64]bool{}
	for _, e := range w.log() {
		switch b := e.Body.(type) {
		case *event.AssistantMessage:
			given[event.TextOf(b.Content)] = e.Seq
		case *event.Setup:
			setup[e.Seq] = true
			if b.Hidden || b.Base {
				anew = e.Seq
			}
		case *event.Compacted:
			anew = e.Seq
		case *event.Redacted:
			if setup[b.Target] {
				anew = e.Seq
			}
		case *event.RunEnded:
			if b.Status == event.RunFailed && !b.Keep {
				anew = e.Seq
			}
		}
	}
	for i, m := range req.Messages {
		in := setups[0]
		for _, s := range setups {
			if s.From < i {
				in = s
			}
		}
		for _, b := range m.Content {
			t, ok := b.(*event.Text)
			if !ok || m.Role != event.RoleAssistant || given[t.Text] < anew {
				continue
			}
			if was, known := w.under[t.Text]; known && !fold.SameSetup(&was, &in) {
				return fmt.Errorf("%.12s was given under %q with %d tools, and the request says %q with %d", t.Text, was.Instructions, len(was.Tools),
					in.Instructions, len(in.Tools))
			}
		}
	}
	return nil
}

// agent is the agent as the process of the next run has it.
func (w *setupWorld) agent() (a *Agent) {
	texts := []string{"Be brief.", "Be brief. また明日", "Be brief. また昨日", "", strings.Repeat("Long. ", 200), "Be \xff."}
	w.masked = false
	text := texts[w.IntN(5)]
	if w.one(12) {
		text, w.masked = texts[5], true
	}
	if w.one(12) {
		text, w.masked = "The key is sesame-open-7781.", true
	}
	if w.one(6) {
		defer func() { a.Use(ForgetFailed()) }()
	}
	a = New("root", w, Instructions(text), Retries(Retry{Base: 1, Max: 1, Exact: true}))
	for i := range 6 {
		if i < 3 || !w.one(3) {
			a.Use(Func("tool"+strconv.Itoa(i), "Does a thing.", func(context.Context, struct{}) (string, error) { return "done", nil }, tool.Pure()))
		}
	}
	if w.one(2) {
		a.Use(SearchTools(ToolSearch{Above: 2, Results: 1}))
	}
	switch w.IntN(6) {
	case 0:
		a.Use(Manage(Management{By: SlidingWindow(6)}))
	case 1:
		a.Use(Manage(Management{At: 0.3, By: Summarize{Recent: 2, Instructions: "Write a summary."}}))
	}
	return a
}

func (w *setupWorld) step(t *testing.T) {
	if w.one(3) {
		w.conv = Open(w.store, w.id) // another process
	}
	if w.one(6) && w.conv != nil {
		log := w.log()
		err := w.conv.log.Record(deadlineless, "redact", "root", &drive.Request{}, func(*fold.Conversation) ([]event.Body, error) {
			target := int64(1 + w.IntN(max(len(log), 1)))
			for _, e := range log {
				if e.Body.Kind() == event.KindSetup && w.one(3) {
					target = e.Seq
				}
			}
			return []event.Body{&event.Redacted{Target: target}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	opts := []RunOption{In(w.conv), WithSecrets(map[string]secret.Secret{"key": secret.New("sesame-open-7781")})}
	if w.one(10) {
		opts = append(opts, NewSession())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := w.agent()
	if w.one(8) {
		begun := 0
		for e, err := range a.Stream(ctx, "go", opts...) {
			if err != nil {
				break
			}
			if _, ok := e.Body.(*event.StepBegun); ok {
				if begun++; begun > 2 {
					break
				}
			}
		}
		return
	}
	_, _ = a.Run(ctx, "go", opts...)
}

// Whatever becomes of a conversation, its setups are those that the log has, and say the truth of
// each answer.
func TestSetupsComeFromTheLog(t *testing.T) {
	t.Parallel()
	cases, changed, most := 60, 0, 0
	few := testing.Short() || race.On
	if few {
		cases = 6
	}
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for seed := range cases {
		w := &setupWorld{Rand: rand.New(rand.NewPCG(uint64(seed), 3)), store: store, id: "c" + strconv.Itoa(seed), under: map[string]model.Setup{}}
		w.conv = Open(store, w.id)
		for range 4 + w.IntN(30) {
			w.step(t)
			if len(w.faults) > 0 {
				t.Fatalf("seed %d: %v", seed, w.faults[0])
			}
		}
		for _, e := range w.log() {
			if b, ok := e.Body.(*event.Setup); ok && (e.Audience != event.Operator || strings.Contains(b.Text, "sesame")) {
				t.Errorf("seed %d: %+v", seed, e)
			}
		}
		changed, most = changed+w.changed, max(most, w.most)
	}
	t.Logf("%d requests with changes, at most %d in one", changed, most)
	if changed < 4*cases || !few && most < 5 {
		t.Error("too few changes to say anything")
	}
}
