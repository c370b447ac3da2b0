package cost

import (
	"errors"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// priced returns a model whose calls cost nano.
func priced(nano int64) *model.Info {
	return &model.Info{Name: "m", Cost: func(event.Usage) (int64, bool) { return nano, true }}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		info  *model.Info
		nano  int64
		known bool
		fault bool
	}{
		{info: &model.Info{}},
		{info: priced(0), known: true},
		{info: priced(mostNanoUSD), nano: mostNanoUSD, known: true},
		{info: priced(mostNanoUSD + 1), fault: true},
		{info: priced(-1), fault: true},
	} {
		if nano, known, fault := Of(c.info, event.Usage{}); nano != c.nano || known != c.known || (fault != "") != c.fault {
			t.Errorf("%d, %v, %q; want %+v", nano, known, fault, c)
		}
	}
}

func TestOfCut(t *testing.T) {
	t.Parallel()
	nothing := OfCut(priced(5), event.Usage{}, 100, 7)
	if u := nothing.Usage; u.Input != 100 || u.Output != 7 || u.Total != 107 || !nothing.Estimated || nothing.Nano == nil || *nothing.Nano != 5 {
		t.Errorf("a call without a report is charged %+v", nothing)
	}
	heard := OfCut(&model.Info{}, event.Usage{Input: 90, Output: 3, Total: 93}, 100, 7)
	if u := heard.Usage; u.Input != 90 || u.Output != 7 || u.Total != 97 || heard.Nano != nil {
		t.Errorf("a call with a report is charged %+v", heard)
	}
	simulated := OfCut(&model.Info{Simulated: true}, event.Usage{}, 100, 7)
	if simulated.Usage != (event.Usage{}) || simulated.Estimated {
		t.Errorf("a simulated call is charged %+v", simulated)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("anything"), false},
		{&event.Error{Kind: event.ErrTimeout}, false},
		{&event.Error{Kind: event.ErrStreamCut}, false},
		{&event.Error{Kind: event.ErrInvalid}, true},
		{&event.Error{Kind: event.ErrUnavailable}, true},
	} {
		if got := Refused(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
