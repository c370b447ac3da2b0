package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

func TestPromptTooLarge(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil)
	p.Stdin = strings.NewReader(strings.Repeat("x", promptLimit+1))
	if _, _, err := p.readPrompt(nil); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
