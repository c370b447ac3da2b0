package cassette_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/cassette"
)

// Once records where there is nothing, and replays from then on.
func TestOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	opened := 0
	session := func(inputs ...string) (bool, error) {
		t.Helper()
		s, err := cassette.Once(path, func() (model.Model, error) { opened++; return echo, nil })
		if err != nil {
			t.Fatal(err)
		}
		conv := braid.NewConversation()
		for _, input := range inputs {
			if _, err := braid.New("a", s.Model).Run(t.Context(), input, braid.In(conv)); err != nil {
				_ = s.Close()
				return s.Replayed, err
			}
		}
		return s.Replayed, s.Close()
	}
	if replayed, err := session(); replayed || err != nil {
		t.Errorf("nothing: %v, %v", replayed, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("nothing was recorded, and there is a file: %v", err)
	}
	if replayed, err := session("one", "two"); replayed || err != nil {
		t.Errorf("the first time: %v, %v", replayed, err)
	}
	if replayed, err := session("one", "two"); !replayed || err != nil {
		t.Errorf("the second time: %v, %v", replayed, err)
	}
	if _, err := session("one"); event.KindOf(err) != event.ErrConflict {
		t.Errorf("half of it: %v", err)
	}
	if _, err := session("three"); event.KindOf(err) != event.ErrConflict {
		t.Errorf("something else: %v", err)
	}
	if opened != 2 {
		t.Errorf("the model was opened %d times", opened)
	}
	if err := os.WriteFile(path, []byte("notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cassette.Once(path, nil); event.KindOf(err) != event.ErrInvalid {
		t.Errorf("another file: %v", err)
	}
	if _, err := cassette.Once(path+"2", func() (model.Model, error) { return nil, event.ErrModelAuth }); event.KindOf(err) != event.ErrModelAuth {
		t.Errorf("no model: %v", err)
	}
	if _, err := os.Stat(path + "2"); !os.IsNotExist(err) {
		t.Errorf("no model, and there is a file: %v", err)
	}
}

// A run that went on with another model goes on with it at a replay.
func TestFallback(t *testing.T) {
	t.Parallel()
	busy := said(func(*model.Request) ([]model.Chunk, error) {
		return []model.Chunk{{Kind: model.ChunkText, Text: "Well"}}, &event.Error{Kind: event.ErrModelAuth, Message: "no"}
	})
	run := func(first, second model.Model) (events []event.Event) {
		t.Helper()
		agent := braid.New("a", first, clock("noon"), braid.Fallback([]event.ErrorKind{event.ErrModelAuth}, second))
		for e, err := range agent.Stream(t.Context(), "hi") {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		return events
	}
	var was []event.Event
	tape := recording(t, busy, func(m model.Model) { was = run(m, m.(*cassette.Recorder).Also(other{echo})) })
	player := open(t, tape)
	second, err := player.Model("other")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lines(t, was), lines(t, run(player, second))); d != "" || player.Left() != 0 {
		t.Errorf("-recorded +replayed:\n%s%d left", d, player.Left())
	}
}

type other struct{ model.Model }

func (other) Info() model.Info { return model.Info{Name: "other"} }
