package braid_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// stumbling is a model whose calls fail one after another, and then answer.
type stumbling struct {
	codes []string
	calls int
}

func (*stumbling) Info() model.Info { return model.Info{Name: "m"} }

func (f *stumbling) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		f.calls++
		if f.calls <= len(f.codes) {
			yield(model.Chunk{}, &event.Error{Op: "model m", Kind: event.ErrUnavailable, Code: f.codes[f.calls-1], Message: "not there"})
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "Hello."}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// A call that reached no server is made again once, soon; other calls that failed are made again
// as often as the policy says. Calls that reached none count only in a row.
func TestACallThatReachedNoServerIsMadeAgainOnce(t *testing.T) {
	t.Parallel()
	const refused, nowhere = model.CodeRefused, model.CodeNoHost
	for name, tc := range map[string]struct {
		codes []string
		parts []braid.Part
		calls int
		fails bool
		// most is the longest time that all calls may take, least the shortest.
		least, most time.Duration
	}{
		"refused once":              {[]string{refused}, nil, 2, false, time.Second / 2, time.Second},
		"refused twice":             {[]string{refused, refused}, nil, 2, true, time.Second / 2, time.Second},
		"no host":                   {[]string{nowhere, nowhere}, nil, 2, true, time.Second / 2, time.Second},
		"one, then the other":       {[]string{refused, nowhere}, nil, 2, true, time.Second / 2, time.Second},
		"unavailable":               {[]string{"", "", ""}, nil, 4, false, 14 * time.Second, 28 * time.Second},
		"refused, then unavailable": {[]string{refused, "", refused}, nil, 4, false, 5 * time.Second, 10 * time.Second},
		"no attempt but one":        {[]string{refused}, []braid.Part{braid.Retries(braid.Retry{Attempts: 1})}, 1, true, 0, 0},
		"a quick policy": {
			[]string{refused}, []braid.Part{braid.Retries(braid.Retry{Base: time.Millisecond, Exact: true})}, 2, false, time.Millisecond, time.Millisecond,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &stumbling{codes: tc.codes}
			begun := time.Now()
			_, err := braid.New("a", m, tc.parts...).Run(t.Context(), "Hello?")
			if took := time.Since(begun); m.calls != tc.calls || (err != nil) != tc.fails || took < tc.least || took > tc.most {
				t.Errorf("%s: %d calls in %v: %v", name, m.calls, took, err)
			}
		})
	}
}
