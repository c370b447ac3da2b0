package modeltest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// loops is the matrix of failures as an agent meets it: what may be repeated is
// repeated by the loop and by nobody else, so the attempts stand in the events, and
// are those that the vendor has seen.
func loops(t *testing.T, p *Provider) {
	for fault, kind := range Faults() {
		if kind == event.ErrContextOverflow || fault == Silent || fault == Stalled {
			continue // the loop shortens the conversation first; silence is a cut that takes long
		}
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			p.shows(t, repeated)
			broken := whole
			broken.Fault = fault
			if !kind.Info().Retry {
				m, peer := p.Open(t, broken, whole)
				got := drive(t, p, m)
				if !errors.Is(got.err, kind) || len(got.failed) != 1 || !got.failed[0].RetryAt.IsZero() || peer.Asked() != 1 {
					t.Errorf("%v after %d requests, %d of them told as failed", got.err, peer.Asked(), len(got.failed))
				}
				return
			}
			m, peer := p.Open(t, broken, broken, whole)
			got := drive(t, p, m)
			if got.err != nil || got.text != "one two three" {
				t.Fatalf("%q: %v", got.text, got.err)
			}
			if peer.Asked() != 3 || fmt.Sprint(got.attempts) != "[1 2 3]" {
				t.Errorf("%d requests, attempts %v", peer.Asked(), got.attempts)
			}
			// What was refused used nothing; what broke off is counted as far as it was told.
			if u := got.usage; u.Output < counted.Output || (!late(fault) && u != counted) {
				t.Errorf("usage %+v, want %+v", u, counted)
			}
			for i, f := range got.failed {
				if f.Err == nil || f.Err.Kind != kind || f.Outcome != event.OutcomeFailed || f.RetryAt.IsZero() {
					t.Errorf("attempt %d: %+v", i+1, f)
				}
			}
			if len(got.failed) != 2 {
				t.Errorf("%d attempts are told as failed", len(got.failed))
			}
			// For ever is until the last attempt.
			m, peer = p.Open(t, broken, broken, broken, whole)
			if got := drive(t, p, m); !errors.Is(got.err, kind) || peer.Asked() != 3 || !got.failed[2].RetryAt.IsZero() {
				t.Errorf("%v after %d requests", got.err, peer.Asked())
			}
		})
	}
	t.Run("time to wait", func(t *testing.T) {
		t.Parallel()
		p.shows(t, RetryAfter)
		const asked = 50 * time.Second
		broken := whole
		broken.Fault, broken.RetryAfter = Throttled, asked
		m, _ := p.Open(t, broken, whole)
		for e, err := range p.Loop(t.Context(), m, "Hello.") {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*event.StepEnded); ok {
				if wait := b.RetryAt.Sub(e.Time); wait < asked-time.Second || wait > asked+time.Second {
					t.Errorf("the next attempt is in %v, want %v", wait, asked)
				}
				return // nobody waits that long here
			}
		}
		t.Error("no attempt failed")
	})
}

// late reports whether a fault comes behind the beginning of an answer.
func late(f Fault) bool {
	switch f {
	case Cut, NoEnd, Stalled, Overloads, FailsLater:
		return true
	default:
		return false
	}
}

// driven is a run as its events tell it.
type driven struct {
	text     string
	err      error
	attempts []int
	failed   []*event.StepEnded
	usage    event.Usage
}

// drive runs an agent on the model.
func drive(t *testing.T, p *Provider, m model.Model) (d driven) {
	t.Helper()
	for e, err := range p.Loop(t.Context(), m, "Hello.") {
		if err != nil {
			d.err = err
			break
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			d.attempts = append(d.attempts, e.Attempt)
		case *event.StepEnded:
			d.failed = append(d.failed, b)
		case *event.AssistantMessage:
			d.text = (event.Message{Content: b.Content}).Text()
		case *event.RunEnded:
			d.usage = b.Usage
		}
	}
	return d
}
