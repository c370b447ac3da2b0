package main

import (
	"errors"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
)

// A model whose provider does not manage conversations is refused before the run.
func TestContextLeftToTheProvider(t *testing.T) {
	t.Parallel()
	model, err := models.Open("demo:assistant")
	if err != nil {
		t.Fatal(err)
	}
	for how, unsupported := range map[string]bool{"provider": true, "summary": false, "window": false, "none": false} {
		var s conf.Settings
		for i := range conf.Options {
			if o := &conf.Options[i]; o.Name == "context" {
				if err := o.Set(&s, how); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := braid.New("a", model, contextParts(&s, s.Context, false)...).Err(); unsupported != errors.Is(err, event.ErrUnsupported) {
			t.Errorf("%s: %v", how, err)
		}
	}
}
