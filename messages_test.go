package braid_test

import (
	"context"
	"errors"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

func TestARunThatIsCancelledBeforeItBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := braid.New("a", answers(says("x"))).Run(ctx, "hi")
	if !errors.Is(err, event.ErrCancelled) || r.Status != event.RunCancelled || r.Stop != event.StopCancelled {
		t.Errorf("got %q, %q, %v", r.Status, r.Stop, err)
	}
}

func TestAHistoryOfTexts(t *testing.T) {
	t.Parallel()
	m := answers(says("Ann"))
	r, err := braid.New("a", m).Run(t.Context(), "Who am I?",
		braid.History(event.UserText("I am Ann."), event.AssistantText("Hello Ann.")))
	if err != nil || r.Text() != "Ann" {
		t.Errorf("got %q, %v", r.Text(), err)
	}
}
