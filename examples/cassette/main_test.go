package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/cassette"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatWasRecordedIsReplayed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	recorded, rest, _ := strings.Cut(out.String(), "\n")
	replayed, _, _ := strings.Cut(rest, "\n")
	said, ok := strings.CutPrefix(recorded, "recorded: ")
	if !ok || said != "3 + 5 = 8. (78 tokens)" || replayed != "replayed: "+said || !strings.HasSuffix(out.String(), "calls left: 0\n") {
		t.Error(out.String())
	}
}

// A question that nobody recorded gets no answer of another one.
func TestAnotherQuestionIsAnError(t *testing.T) {
	t.Parallel()
	tape, _, err := record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	player, err := cassette.Replay(bytes.NewReader(tape))
	if err != nil {
		t.Fatal(err)
	}
	agent := braid.New("calculator", player, braid.Func("add", "Adds two numbers.", add), braid.Retries(braid.Retry{Attempts: 1}))
	result, err := agent.Run(t.Context(), "And 4?")
	if !errors.Is(err, event.ErrConflict) || result.Text() != "" {
		t.Errorf("it says %q: %v", result.Text(), err)
	}
}
