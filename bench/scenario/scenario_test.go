package scenario

import (
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/bench/floor"
	"github.com/braidrun/braid/internal/race"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/braidrun/braid/bench/floor.work"))
}

// TestSameWork holds that a ratio compares like with like.
func TestSameWork(t *testing.T) {
	t.Parallel()
	for _, p := range Pairs() {
		if race.On && (strings.HasSuffix(p.ID, "-10000") || strings.Contains(p.ID, "-growth")) {
			continue // make test-long builds the long histories without the race detector
		}
		t.Run(p.ID, func(t *testing.T) {
			t.Parallel()
			if p.Close != nil {
				t.Cleanup(func() {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			for _, side := range []*Side{&p.Base, &p.Subject} {
				for _, n := range []int{1, 3} {
					if side.Most > 0 && n > side.Most {
						continue
					}
					if err := side.Do(n); err != nil {
						t.Error(err)
					}
				}
			}
			if !strings.Contains(p.ID, "-growth") && p.Base.Each != p.Subject.Each {
				t.Errorf("the sides are to do different work: %v and %v", p.Base.Each, p.Subject.Each)
			}
		})
	}
}

// TestWorkOfTheContract holds that the rows do what their names say.
func TestWorkOfTheContract(t *testing.T) {
	t.Parallel()
	want := map[string]Work{
		"a":       {Runs: 1, Deltas: 500},
		"b":       {Runs: 1, Deltas: 21, Calls: 10, Results: 10},
		"b-whole": {Runs: 1, Deltas: 1, Calls: 10, Results: 10},
		"b-100":   {Runs: 1, Deltas: 201, Calls: 100, Results: 100},
		"c":       {Runs: 1, Deltas: 65, Calls: 32, Results: 32},
		"e-10000": {Runs: 1, Deltas: 1},
		"f-cold":  {Runs: 1, Deltas: 1},
		"h":       {Runs: 1, Deltas: 21, Calls: 10, Results: 10},
		"i":       {Runs: 1, Deltas: 500},
	}
	for _, p := range Pairs() {
		w, ok := want[p.ID]
		if !ok {
			continue
		}
		delete(want, p.ID)
		got := p.Subject.Each
		if got.Text == "" && p.ID != "g" {
			t.Errorf("%s ends without text", p.ID)
		}
		got.Text = ""
		if got != w {
			t.Errorf("%s is %v, want %v", p.ID, got, w)
		}
	}
	for id := range want {
		t.Errorf("there is no row %s", id)
	}
}

// TestWarmTurnsShowTheWholeHistory holds that the model of scenario e is
// given as many messages as the row says, with both sides.
func TestWarmTurnsShowTheWholeHistory(t *testing.T) {
	t.Parallel()
	const prior = 100
	var byHand, withBraid atomic.Int64
	f := floor.New("bench", &byHandModel{
		answers: byHandChunks([]answer{text(1)}),
		called:  func(_, n int) { byHand.Store(int64(n)) },
	})
	s := floor.NewSession("s")
	b := braid.New("bench", &scripted{
		answers: braidChunks([]answer{text(1)}),
		called:  func(_, n int) { withBraid.Store(int64(n)) },
	})
	c := braid.NewConversation()
	if err := fill(b, c, prior); err != nil {
		t.Fatal(err)
	}
	var w Work
	for range prior / 2 {
		if err := readByHand(&w, f.Stream(t.Context(), s, "go on")); err != nil {
			t.Fatal(err)
		}
	}
	if err := readByHand(&w, f.Stream(t.Context(), s, "go on")); err != nil {
		t.Fatal(err)
	}
	if err := readBraid(&w, b.Stream(t.Context(), "go on", braid.In(c))); err != nil {
		t.Fatal(err)
	}
	if byHand.Load() != prior+1 || withBraid.Load() != prior+1 {
		t.Errorf("the models were shown %d and %d messages, want %d", byHand.Load(), withBraid.Load(), prior+1)
	}
}

// TestDifferentWorkIsNoticed holds that a side that does less cannot be timed.
func TestDifferentWorkIsNoticed(t *testing.T) {
	t.Parallel()
	side := Side{Name: "lazy", Each: Work{Runs: 1, Deltas: 2}, Batch: func(n int) func() (Work, error) {
		return func() (Work, error) { return Work{Runs: n, Deltas: n}, nil }
	}}
	if err := side.Do(2); err == nil {
		t.Error("half the deltas went through")
	}
	side.Each.Deltas = 1
	if err := side.Do(2); err != nil {
		t.Error(err)
	}
}

func TestEnduranceIsFlat(t *testing.T) {
	t.Parallel()
	for name, onBraid := range map[string]bool{"floor": false, "braid": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marks, err := Endurance(onBraid, 300, 100)
			if err != nil {
				t.Fatal(err)
			}
			if len(marks) != 4 {
				t.Fatalf("%d marks, want 4", len(marks))
			}
			first, last := marks[1], marks[len(marks)-1]
			if last.Cycles != 300 || first.Frames == 0 || last.Frames != first.Frames || last.Reader != first.Reader {
				t.Errorf("after %d cycles the stack is %d and %d deep, after %d it is %d and %d",
					first.Cycles, first.Frames, first.Reader, last.Cycles, last.Frames, last.Reader)
			}
		})
	}
}

// It looks at the heap, so nothing else may run beside it.
func TestAgentsAreKept(t *testing.T) { //nolint:paralleltest // see above
	k := MeasureKept()
	for name, bytes := range map[string]int64{
		"floor": k.Floor, "braid": k.Braid, "floor with tool": k.FloorTool, "braid with tool": k.BraidTool,
	} {
		if bytes < 50 {
			t.Errorf("%s keeps %d bytes: nothing was constructed", name, bytes)
		}
	}
	if got := len(FirstTimes()); got != len(firsts) {
		t.Errorf("%d first times, want %d", got, len(firsts))
	}
}
