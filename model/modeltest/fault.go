package modeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// soon is far more than anything here needs.
const soon = time.Minute

var whole = Answer{Chunks: pieces(model.ChunkText, 0, "one ", "two ", "three"), Stop: event.StopEndTurn, Usage: counted}

// faults are mapped to kinds, and happen once: nothing is repeated in secret.
func faults(t *testing.T, p *Provider) {
	for fault, kind := range Faults() {
		for _, after := range []time.Duration{0, 7 * time.Second} {
			if after > 0 && (fault != Throttled && fault != Overloaded && fault != Unavailable || !p.has(RetryAfter)) {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", fault, after), func(t *testing.T) {
				t.Parallel()
				if after > 0 {
					p.shows(t, RetryAfter)
				}
				p.shows(t, faultRow(fault))
				broken := whole
				broken.Fault, broken.RetryAfter = fault, after
				synctest.Test(t, func(t *testing.T) { failsOnce(t, p, broken, kind) })
			})
		}
	}
}

// failsOnce holds one call that fails, and the next, against the clock of a bubble.
func failsOnce(t *testing.T, p *Provider, broken Answer, kind event.ErrorKind) {
	m, peer := p.Open(t, broken, whole)
	begun := time.Now()
	r := Call(t.Context(), m, request())
	took := time.Since(begun)
	mustFail(t, r, kind)
	e := failure(t, r, kind)
	if e.RetryAfter != broken.RetryAfter {
		t.Errorf("it is asked to wait %v, want %v", e.RetryAfter, broken.RetryAfter)
	}
	if e.Hint == "" {
		t.Errorf("nobody says what to do next: %v", e)
	}
	if n := peer.Asked(); n != 1 {
		t.Errorf("%d requests for one call", n)
	}
	if late(broken.Fault) && blocks(r.Content) != blocks([]event.Block{text("one two three")}) {
		t.Errorf("what had come is lost: %s", blocks(r.Content))
	}
	if silent := broken.Fault == Stalled || broken.Fault == Silent; !silent && took != 0 {
		t.Errorf("it waited for %v", took)
	} else if silent && (took != Silence || !peer.Left(soon)) {
		t.Errorf("it gave up after %v, want %v, or did not close the connection", took, Silence)
	}
	// It works again.
	mustAnswer(t, Call(t.Context(), m, request()))
}

// cuts break the stream behind each piece.
func cuts(t *testing.T, p *Provider) {
	p.shows(t, faultRow(Cut), faultRow(NoEnd))
	all := join(pieces(model.ChunkText, 0, "one ", "two"), calling(1, "c1", "add", `{"a"`, `:1}`))
	for n := range len(all) + 1 {
		for _, fault := range []Fault{Cut, NoEnd} {
			m, _ := p.Open(t, Answer{Chunks: all[:n], Stop: event.StopToolUse, Usage: counted, Fault: fault})
			req := request()
			req.Tools = []model.ToolSpec{tool("add")}
			mustFail(t, Call(t.Context(), m, req), event.ErrStreamCut)
		}
	}
}

// cancels end a call soon, wherever it stands.
func cancels(t *testing.T, p *Provider) {
	p.shows(t, cancelled)
	stalled := whole
	stalled.Fault = Stalled
	silent := whole
	silent.Fault = Silent
	for name, a := range map[string]Answer{"in the middle": stalled, "before the answer": silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { leaves(t, p, a) })
		})
	}
	t.Run("before the call", func(t *testing.T) {
		t.Parallel()
		m, peer := p.Open(t, whole)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		mustFail(t, Call(ctx, m, request()), event.ErrCancelled)
		if peer.Asked() != 0 {
			t.Error("a request was sent")
		}
	})
}

// leaves cancels a call that waits for its vendor, and has another one run out of time.
func leaves(t *testing.T, p *Provider, waiting Answer) {
	m, peer := p.Open(t, waiting, waiting)
	if !model.IsCancellable(m) {
		t.Error("the model does not promise what a model.Cancellable does")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(Silence/8, cancel)
	begun := time.Now()
	mustFail(t, Call(ctx, m, request()), event.ErrCancelled)
	if took := time.Since(begun); took != Silence/8 || !peer.Left(soon) {
		t.Errorf("it ends %v behind its beginning, or the connection stays open", took)
	}
	late, done := context.WithTimeout(t.Context(), Silence/4)
	defer done()
	mustFail(t, Call(late, m, request()), event.ErrTimeout)
}

// breaks leave the loop in the middle.
func breaks(t *testing.T, p *Provider) {
	p.shows(t, cancelled)
	synctest.Test(t, func(t *testing.T) { breaksOff(t, p) })
}

func breaksOff(t *testing.T, p *Provider) {
	stalled := whole
	stalled.Fault = Stalled
	m, peer := p.Open(t, stalled, whole)
	for c, err := range m.Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == model.ChunkText && c.Text != "" {
			break
		}
	}
	if !peer.Left(soon) {
		t.Error("the connection stays open")
	}
	for _, err := range m.Stream(t.Context(), request()) {
		if err != nil {
			t.Error(err)
		}
		break // at once
	}
}

// readOnly looks whether a request is as it was.
func readOnly(t *testing.T, p *Provider) {
	p.shows(t, untouched)
	for name, messages := range Histories() {
		m, _ := p.Open(t, whole, whole)
		req := request(messages...)
		req.Tools = []model.ToolSpec{tool("add"), tool("with.dots")}
		show := func() string {
			var s strings.Builder
			for _, m := range req.Messages {
				for _, b := range m.Content {
					fmt.Fprintf(&s, "%s %+v\n", m.Role, b)
					if r, ok := b.(*event.ToolResult); ok {
						fmt.Fprintf(&s, "%d %+v\n", len(r.Content), r.Content)
					}
				}
			}
			fmt.Fprintf(&s, "%+v", req.Tools)
			return s.String()
		}
		before := show()
		mustAnswer(t, Call(t.Context(), m, req))
		mustAnswer(t, Call(t.Context(), m, req))
		if show() != before {
			t.Errorf("%s: the request was changed", name)
		}
	}
}

// many calls go on at once, in one conversation and in several.
func many(t *testing.T, p *Provider) {
	p.shows(t, parallel)
	const calls = 24
	list := make([]Answer, calls)
	for i := range list {
		list[i] = whole
	}
	m, _ := p.Open(t, list...)
	shared := Histories()["several calls"]
	var wg sync.WaitGroup
	errs := make(chan error, calls)
	for i := range calls {
		wg.Go(func() {
			messages := shared
			if i%2 == 0 {
				messages = Histories()["an id twice"]
			}
			req := request(append(append([]event.Message(nil), messages...), assistant(text("ok")), user(text(fmt.Sprint("go on ", i))))...)
			req.Tools = []model.ToolSpec{tool("add"), tool("mul")}
			r := Call(t.Context(), m, req)
			if r.Err != nil || blocks(r.Content) != blocks([]event.Block{text("one two three")}) {
				errs <- errors.Join(errors.New(blocks(r.Content)), r.Err)
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}
