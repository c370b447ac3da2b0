package main

import (
	"errors"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
)

// A model whose provider manages no conversations is refused before anything runs.
func TestContextLeftToTheProvider(t *testing.T) {
	t.Parallel()
	model, err := models.Open("demo:assistant")
	if err != nil {
		t.Fatal(err)
	}
	for how, unsupported := range map[string]bool{"provider": true, "summary": false, "window": false, "none": false} {
		var s settings
		for i := range options {
			if o := &options[i]; o.name == "context" {
				if err := o.set(&s, how); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := braid.New("a", model, contextParts(&s, s.Context, false)...).Err(); unsupported != errors.Is(err, event.ErrUnsupported) {
			t.Errorf("%s: %v", how, err)
		}
	}
}
