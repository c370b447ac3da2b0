package braid_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
)

// seeing is an agent whose model answers each request, and what that was shown last.
func seeing(opts ...braid.Part) (*braid.Agent, *[]event.Message) {
	seen := new([]event.Message)
	m := &script{next: func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		*seen = req.Messages
		return chunks(says(fmt.Sprint("answer after ", len(req.Messages))))
	}}
	return braid.New("root", m, opts...), seen
}

// talkFor has so many turns on a conversation, which stays in memory.
func talkFor(t *testing.T, store journal.Store, turns int) {
	t.Helper()
	agent, _ := seeing()
	conv := braid.Open(store, "c")
	for i := range turns {
		if _, err := agent.Run(t.Context(), fmt.Sprint("question ", i), braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
}

// unstored is a store whose readers see no stored fold.
type unstored struct{ journal.Store }

func (s unstored) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	t, err := s.Tail(ctx, conversation)
	return journal.StoredTail{Tail: t}, err
}

// storedHead returns a conversation's stored fold, which it must have.
func storedHead(t *testing.T, store journal.Store) journal.StoredTail {
	t.Helper()
	tail, err := store.StoredTail(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if len(tail.Head) == 0 {
		t.Fatal("the conversation has no stored fold")
	}
	return tail
}

// sameOpened compares what a conversation shows that is opened in a store with what it shows when its log is folded, and
// what a model sees in the next turn.
func sameOpened(t *testing.T, store journal.Store) {
	t.Helper()
	ctx := t.Context()
	look := func(s journal.Store) (shown [4]any) {
		var errs [4]error
		shown[0], errs[0] = braid.Open(s, "c").Messages(ctx)
		shown[1], errs[1] = braid.Open(s, "c").State(ctx)
		shown[2], errs[2] = braid.Open(s, "c").Retryable(ctx)
		shown[3], errs[3] = braid.Open(s, "c").Questions(ctx)
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		return shown
	}
	got, want := look(store), look(unstored{store})
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("opened it shows\n%.500v\nand by its log\n%.500v", fmt.Sprint(got), fmt.Sprint(want))
	}
	before, _ := want[0].([]event.Message)
	agent, seen := seeing()
	if _, err := agent.Run(ctx, "and now?", braid.In(braid.Open(store, "c"))); err != nil {
		t.Fatal(err)
	}
	if n := len(*seen) - 1; n != len(before) || !reflect.DeepEqual((*seen)[:n], before) {
		t.Fatalf("the model sees %d messages, and the conversation had %d", n, len(before))
	}
}

func TestALongConversationIsOpenedFromItsStoredFold(t *testing.T) {
	t.Parallel()
	const turns = 1000
	for _, on := range []string{"memory", "sqlite"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			var store journal.Store = journal.NewMemory(journal.MemoryOptions{})
			folder := t.TempDir()
			if on == "sqlite" {
				s, err := sqlite.Open(folder, sqlite.Options{Relaxed: true})
				if err != nil {
					t.Fatal(err)
				}
				store = s
			}
			talkFor(t, store, turns)
			if s, ok := store.(*sqlite.Store); ok { // as after a restart
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s, err := sqlite.Open(folder, sqlite.Options{Relaxed: true})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				store = s
			}
			tail := storedHead(t, store)
			if n := len(tail.Events); n > 300 {
				t.Errorf("%d events follow the stored fold", n)
			}
			sameOpened(t, store)
			sameOpened(t, store) // and from what that run has stored
		})
	}
}

// TestOpeningALongConversationAllocatesLittle runs alone, because it measures the whole process.
func TestOpeningALongConversationAllocatesLittle(t *testing.T) { //nolint:paralleltest // see above
	if race.On {
		t.Skip("the race detector allocates too")
	}
	store := journal.NewMemory(journal.MemoryOptions{})
	talkFor(t, store, 2000)
	var sum uint64
	const times = 5
	for range times {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := braid.Open(store, "c").State(t.Context()); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		sum += after.TotalAlloc - before.TotalAlloc
	}
	if n := sum / times; n > 1<<20 {
		t.Errorf("opening 4,000 messages allocates %d bytes", n)
	}
}

// bad is a store that damages what it returns of stored folds.
type bad struct {
	journal.Store
	tail  func(*journal.StoredTail)
	parts func([][]byte) ([][]byte, error)
}

func (s *bad) StoredTail(ctx context.Context, conversation string) (journal.StoredTail, error) {
	t, err := s.Store.StoredTail(ctx, conversation)
	if s.tail != nil {
		s.tail(&t)
	}
	return t, err
}

func (s *bad) StoredParts(ctx context.Context, conversation string) ([][]byte, error) {
	parts, err := s.Store.StoredParts(ctx, conversation)
	if s.parts != nil && err == nil {
		return s.parts(parts)
	}
	return parts, err
}

func TestADamagedStoredFoldLeadsToTheLog(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]bad{
		"a byte of the head":  {tail: func(t *journal.StoredTail) { t.Head[len(t.Head)/2] ^= 1 }},
		"a head cut short":    {tail: func(t *journal.StoredTail) { t.Head = t.Head[:len(t.Head)-1] }},
		"another position":    {tail: func(t *journal.StoredTail) { t.Seq++ }},
		"events that are not": {tail: func(t *journal.StoredTail) { t.Events = nil }},
		"events that follow":  {tail: func(t *journal.StoredTail) { t.Events = t.Events[1:] }},
		"another run's end": {tail: func(t *journal.StoredTail) {
			e := *t.Events[0]
			e.Run = "another"
			t.Events = append([]*event.Event{&e}, t.Events[1:]...)
		}},
		"another time": {tail: func(t *journal.StoredTail) {
			e := *t.Events[0]
			e.Time = e.Time.Add(time.Nanosecond)
			t.Events = append([]*event.Event{&e}, t.Events[1:]...)
		}},
		"a byte of a part": {parts: func(p [][]byte) ([][]byte, error) { p[0][len(p[0])/2] ^= 1; return p, nil }},
		"no parts":         {parts: func([][]byte) ([][]byte, error) { return nil, nil }},
		"a part more":      {parts: func(p [][]byte) ([][]byte, error) { return append(p[:1:1], p...), nil }},
		"parts that cannot be read": {parts: func([][]byte) ([][]byte, error) {
			return nil, &event.Error{Kind: event.ErrUnavailable, Message: "gone"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := journal.NewMemory(journal.MemoryOptions{})
			talkFor(t, store, 120)
			storedHead(t, store)
			damaged := s
			damaged.Store = store
			sameOpened(t, &damaged)
		})
	}
}

// A driver dies between the commit and the stored fold, or the store refuses it: an older one and the events after it do.
func TestAStoredFoldThatIsBehindIsCaughtUp(t *testing.T) {
	t.Parallel()
	store := &unwilling{Store: journal.NewMemory(journal.MemoryOptions{})}
	talkFor(t, store, 60)
	store.refuses = true
	talkFor(t, store, 120)
	if tail := storedHead(t, store); len(tail.Events) < 500 {
		t.Fatalf("only %d events follow the stored fold", len(tail.Events))
	}
	sameOpened(t, store)
	store.refuses = false
	sameOpened(t, store)
	if tail := storedHead(t, store); len(tail.Events) > 10 {
		t.Errorf("%d events follow the stored fold", len(tail.Events))
	}
}

type unwilling struct {
	journal.Store
	refuses bool
}

func (s *unwilling) StoreFold(ctx context.Context, l journal.Lease, f journal.StoredFold) error {
	if s.refuses {
		return journal.StaleFold("store fold")
	}
	return s.Store.StoreFold(ctx, l, f)
}

// Two processes take turns. Each has the conversation in memory, and stores what the other does not know.
func TestTwoProcessesStoreFoldsOfOneConversation(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	agent, _ := seeing()
	one, other := braid.Open(store, "c"), braid.Open(store, "c")
	for i := range 300 {
		conv := one
		if i%90 > 70 {
			conv = other
		}
		if _, err := agent.Run(t.Context(), fmt.Sprint("question ", i), braid.In(conv)); err != nil {
			t.Fatal(err)
		}
	}
	storedHead(t, store)
	sameOpened(t, store)
}

// An agent that leaves out messages goes on from a stored fold, and its compactions replace that.
func TestAWindowOverAStoredFold(t *testing.T) {
	t.Parallel()
	store := journal.NewMemory(journal.MemoryOptions{})
	talkFor(t, store, 120)
	storedHead(t, store)
	agent, seen := seeing(braid.Manage(braid.Management{By: braid.SlidingWindow(10)}))
	for range 80 {
		if _, err := agent.Run(t.Context(), "more", braid.In(braid.Open(store, "c"))); err != nil {
			t.Fatal(err)
		}
		if n := len(*seen); n > 10 {
			t.Fatalf("the model sees %d messages", n)
		}
	}
	sameOpened(t, store)
}

// A redaction takes a text out of the stored fold too, and so does the removal of the conversation.
func TestARedactionErasesTheStoredFoldInTheFile(t *testing.T) {
	t.Parallel()
	const bird = "canary-4111-1111"
	for _, how := range []string{"redaction", "removal"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			store, err := sqlite.Open(folder, sqlite.Options{Relaxed: true})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			agent, _ := seeing()
			if _, err := agent.Run(t.Context(), "my card is "+bird, braid.In(braid.Open(store, "c"))); err != nil {
				t.Fatal(err)
			}
			talkFor(t, store, 120)
			flush(t, store)
			storedHead(t, store)
			if parts, err := store.StoredParts(t.Context(), "c"); err != nil || !bytes.Contains(bytes.Join(parts, nil), []byte(bird)) {
				t.Fatal("the text is not in the stored fold, which shows nothing", err)
			}
			if how == "redaction" {
				redactFirst(t, store)
				if tail, err := store.StoredTail(t.Context(), "c"); err != nil || len(tail.Head) > 0 {
					t.Errorf("the stored fold is still there: %v", err)
				}
				sameOpened(t, store)
				talkFor(t, store, 60) // and another fold is stored
				flush(t, store)
				storedHead(t, store)
			} else if err := store.Remove(t.Context(), "", "c"); err != nil {
				t.Fatal(err)
			}
			if err := store.Scrub(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(folder, "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				if data, err := os.ReadFile(file); err != nil || bytes.Contains(data, []byte(bird)) {
					t.Errorf("%s has the text: %v", filepath.Base(file), err)
				}
			}
		})
	}
}

// flush commits something else, so that readers see what a store kept back.
func flush(t *testing.T, store journal.Store) {
	t.Helper()
	if _, err := store.Admit(t.Context(), journal.Run{ID: "run of another", Conversation: "another"}); err != nil {
		t.Fatal(err)
	}
}

// redactFirst redacts the first message of the conversation, as a later run does.
func redactFirst(t *testing.T, store journal.Store) {
	t.Helper()
	o, err := store.Start(t.Context(), journal.Run{ID: "redacts", Conversation: "c"}, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	var list []*event.Event
	for i, b := range []event.Body{
		&event.RunStarted{Session: 1, Turn: o.Run.Turn}, &event.Redacted{Target: 2, Reason: "card"}, &event.RunEnded{Status: event.RunCompleted},
	} {
		list = append(list, &event.Event{Header: event.Header{Seq: o.Last + int64(i) + 1, Conversation: "c", Run: "redacts", Time: time.Now()}, Body: b})
	}
	if err := store.Commit(t.Context(), o.Lease, journal.Batch{Events: list, Status: event.RunCompleted}); err != nil {
		t.Fatal(err)
	}
}
