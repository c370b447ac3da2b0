package corpora

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model/modeltest"
)

// TestCuts ends every recorded stream early: at the borders of its last events, at some of the
// others and at random bytes, by a dropped connection and by a proper end of the body. Each must be a typed error,
// or whole because nothing that counts was cut. BRAID_CORPORA_CUTS=all takes 300 borders of
// each stream instead of 6.
func TestCuts(t *testing.T) {
	most := 6
	if race.On {
		most = 3
	}
	if os.Getenv("BRAID_CORPORA_CUTS") == "all" {
		most = 300
	}
	all := recorded(t)
	var asked, failed, whole atomic.Int64
	s := newStage(t)
	t.Run("all", func(t *testing.T) {
		for i, x := range all {
			if x.status != 200 || !x.stream || reason(exceptions[true], &x) != "" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", x.name(), i), func(t *testing.T) {
				t.Parallel()
				full, _ := s.play(t.Context(), t, &x, way{cut: -1}, ask())
				for _, at := range places(&x, most) {
					for _, drop := range []bool{false, true} {
						asked.Add(1)
						r, _ := s.play(t.Context(), t, &x, way{cut: at, drop: drop}, ask())
						switch why := wrongCut(&x, at, full, r); {
						case why != "":
							t.Errorf("cut at %d of %d, dropped %t: %s", at, len(x.body), drop, why)
						case r.Err != nil:
							failed.Add(1)
						default:
							whole.Add(1)
						}
					}
				}
			})
		}
	})
	t.Logf("%d cuts: %d a typed error, %d whole because nothing that counts was cut", asked.Load(), failed.Load(), whole.Load())
}

// places are where a stream is cut.
func places(x *exchange, most int) []int {
	at := x.borders()
	slices.Reverse(at) // where an answer ends, its last events say
	if rest := at[min(len(at), 4):]; len(rest) > 0 {
		rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	}
	at = at[:min(len(at), most)]
	for range min(8, most) {
		at = append(at, rand.IntN(len(x.body)))
	}
	return at
}

// wrongCut says what is wrong with what came of a cut stream; "" is nothing. full is what the
// whole stream gives.
func wrongCut(x *exchange, at int, full, r modeltest.Read) string {
	if r.Err != nil {
		if e, ok := errors.AsType[*event.Error](r.Err); !ok || e.Kind == "" || e.Message == "" {
			return fmt.Sprintf("an error without a type: %v", r.Err)
		}
		return ""
	}
	want, err := x.expected()
	if err != nil {
		return err.Error()
	}
	have := got(r)
	if r.Stops != 1 || have.Text != want.Text || have.Thinking != want.Thinking || len(have.Calls) != len(want.Calls) {
		return fmt.Sprintf("a success with less than the answer: %d end signals, %q, calls %v", r.Stops, have.Text, have.Calls)
	}
	if want.Stop != "" && x.until(at).Stop == "" {
		return fmt.Sprintf("a success that stops with %q before the vendor said why", r.Stop)
	}
	if r.Stop == "" || r.Stop != full.Stop {
		return fmt.Sprintf("a success that stops with %q, and not with %q", r.Stop, full.Stop)
	}
	for i := range want.Calls {
		if have.Calls[i] != want.Calls[i] {
			return fmt.Sprintf("a success with another call: %v", have.Calls[i])
		}
	}
	return ""
}

// until is what the events say that a cut leaves whole.
func (x *exchange) until(at int) said {
	y := *x
	if y.body = x.body[:at]; !strings.HasPrefix(x.kind, "application/vnd") {
		y.body = y.body[:1+bytes.LastIndexByte(y.body, '\n')]
		if _, err := y.expected(); err != nil {
			return said{}
		}
		// The last event counts where only its newline is missing.
		if z := y; len(y.body) < at {
			z.body = x.body[:at]
			if s, err := z.expected(); err == nil {
				return s
			}
		}
	}
	s, _ := y.expected()
	return s
}
