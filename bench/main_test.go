package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/braidrun/braid/bench/scenario"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/braidrun/braid/bench/floor.work"))
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   []float64
		want spread
	}{
		"none": {nil, spread{}},
		"one":  {[]float64{2}, spread{2, 2, 2}},
		"odd":  {[]float64{9, 1, 4}, spread{1, 4, 9}},
		"even": {[]float64{9, 1, 4, 6}, spread{1, 5, 9}},
	} {
		if got := spreadOf(c.in); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	in := []float64{3, 1, 2}
	spreadOf(in)
	if in[0] != 3 {
		t.Error("the figures were sorted in place")
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		figure    spread
		must, aim float64
		want      mark
	}{
		"at the aim":       {spread{1, 1, 1}, 2.5, 1, markOK},
		"noise at the aim": {spread{0.9, 1.1, 1.3}, 2.5, 1, markNear},
		"over the aim":     {spread{1.2, 1.3, 1.4}, 2.5, 1, markOverAim},
		"at the must":      {spread{2.5, 2.5, 2.5}, 2.5, 1, markOverAim},
		"over the must":    {spread{0.9, 2.6, 3}, 2.5, 1, markOver},
		"no aim":           {spread{2, 2, 2}, 2.5, 0, markOK},
		"no must":          {spread{2, 2, 2}, 0, 2, markOK},
		"no must, over":    {spread{3, 3, 3}, 0, 2, markOverAim},
	} {
		if got := judge(c.figure, c.must, c.aim); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// fake returns a pair whose subject takes about ten times as long as its base.
func fake() scenario.Pair {
	side := func(name string, d time.Duration) scenario.Side {
		return scenario.Side{
			Name: name, Each: scenario.Work{Runs: 1}, Batch: func(n int) func() (scenario.Work, error) {
				return func() (scenario.Work, error) {
					for range n {
						spin(d)
					}
					return scenario.Work{Runs: n}, nil
				}
			},
		}
	}
	return scenario.Pair{
		ID: "x", Name: "fake", Item: "thing", Items: 2,
		Base: side("base", 20*time.Microsecond), Subject: side("subject", 200*time.Microsecond),
	}
}

// spin keeps a core busy for d.
func spin(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
		_ = d
	}
}

func TestATimerSeesTheRatio(t *testing.T) {
	t.Parallel()
	p := fake()
	timer := newTimer(&p)
	pl := plan{Passes: 3, Slices: 3, Slice: time.Millisecond}
	for n := range pl.Passes {
		if err := timer.pass(t.Context(), pl, n); err != nil {
			t.Fatal(err)
		}
	}
	row := timer.row()
	// Other tests run at the same time, so only the order of magnitude is certain.
	if row.Ratio.Median < 2 || row.Ratio.Median > 50 || row.Ratio.Min > row.Ratio.Median || row.Ratio.Max < row.Ratio.Median {
		t.Errorf("ratio %v, want about 10", row.Ratio)
	}
	if row.Base.NS.Median < 20e3 || row.Subject.NS.Median < 200e3 {
		t.Errorf("times %v and %v ns, want at least 20,000 and 200,000", row.Base.NS, row.Subject.NS)
	}
	if cpuTime() > 0 && row.CPU.Median < 2 || row.CPU.Median > 50 {
		t.Errorf("ratio in processor time %v, want about 10", row.CPU)
	}
	if len(timer.ratios) != pl.Passes {
		t.Errorf("%d ratios, want one a pass", len(timer.ratios))
	}
}

func TestATimerRefusesOtherWork(t *testing.T) {
	t.Parallel()
	p := fake()
	p.Subject.Each.Deltas = 1
	if err := newTimer(&p).pass(t.Context(), plan{Passes: 1, Slices: 1, Slice: time.Millisecond}, 0); err == nil {
		t.Error("a side that does other work was timed")
	}
}

func TestATimerStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := fake()
	if err := newTimer(&p).pass(ctx, plan{Passes: 1, Slices: 1, Slice: time.Millisecond}, 0); err == nil {
		t.Error("a cancelled pass went on")
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		only string
		yes  []string
		no   []string
	}{
		"all":    {"", []string{"a", "b-100", "cycles", "hub"}, nil},
		"letter": {"b", []string{"b", "b-100", "b-whole"}, []string{"a", "cycles"}},
		"id":     {"e-10", []string{"e-10"}, []string{"e-100", "e", "e-1000"}},
		"two":    {"a, c", []string{"a", "a-tuned", "c"}, []string{"b", "cycles"}},
	} {
		opt, err := parse([]string{"--only", c.only}, &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range c.yes {
			if !opt.wants(id) {
				t.Errorf("%s leaves %s out", name, id)
			}
		}
		for _, id := range c.no {
			if opt.wants(id) {
				t.Errorf("%s takes %s", name, id)
			}
		}
	}
}

func TestBadUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"help":        {[]string{"--help"}, exitOK, "Usage"},
		"flag":        {[]string{"--fast"}, exitUsage, "-fast"},
		"argument":    {[]string{"a"}, exitUsage, `"a"`},
		"unknown row": {[]string{"--only", "z"}, exitUsage, `no row "z"; there are a,`},
	} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), c.args, &out, &errOut, false); code != c.code {
			t.Errorf("%s: exit code %d, want %d", name, code, c.code)
		}
		if out.Len() > 0 || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("%s: said %q and %q", name, out.String(), errOut.String())
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	if code := run(ctx, []string{"--only", "a"}, &out, &errOut, true); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
}

// TestWhole runs the command with one quick row, from flags to output.
func TestWhole(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"--short", "--json", "--only", "a"}, &out, &errOut, true); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	if !strings.Contains(errOut.String(), "pass 3 of 3: a, 500 streamed deltas") {
		t.Errorf("progress was %q", errOut.String())
	}
	var rep report
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.Rows) < 2 || rep.Rows[0].ID != "a" || rep.Rows[0].Ratio.Median <= 0 || !rep.Short {
		t.Errorf("report %+v", rep)
	}
	var works []string
	for _, v := range rep.Verdicts {
		works = append(works, v.Work)
	}
	if diff := cmp.Diff([]string{"a: 500 streamed deltas", "a: allocations a delta"}, works); diff != "" {
		t.Error(diff)
	}
}

// TestProfile writes the profiles of a row from runs of a few milliseconds.
func TestProfile(t *testing.T) {
	t.Parallel()
	dir, p := t.TempDir(), fake()
	p.ID = "a"
	if err := profile(t.Context(), dir, &p, 1, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.cpu.pprof", "a.allocs.pprof", "a.allocs-before.pprof"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("profile %s: %v", name, err)
		}
	}
}

// TestHubAndDisk runs the rows outside the library, from flags to promises.
func TestHubAndDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for the disk")
	}
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"--short", "--json", "--only", "hub,g"}, &out, &errOut, false); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var rep report
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"g: an event of 1 KiB, 64 drivers at once": 50, "hub: p99 at 5000 events/s, 1000 conversations": 1000}
	for _, v := range rep.Verdicts {
		if want[v.Work] != v.Must || v.Figure.Median <= 0 || v.Unit != "µs" {
			t.Errorf("%+v", v)
		}
		delete(want, v.Work)
	}
	if len(want) > 0 || rep.HubMicros.Median > rep.HubTailMicros.Median {
		t.Errorf("missing %v; half of the events take %v, 99 of 100 %v", want, rep.HubMicros, rep.HubTailMicros)
	}
	if g := rep.Rows[0]; g.Items != 64 || rep.Verdicts[0].Figure.Median*64*1e3-g.Subject.NS.Median > 1 {
		t.Errorf("the time of an event is not that of a round through %d: %+v", g.Items, rep.Verdicts[0])
	}
}

func sample() *report {
	r := &report{Go: "go1", OS: "os", Arch: "arch", CPUs: 2, Passes: 3}
	r.Rows = []row{{
		ID: "a", Name: "deltas", Item: "delta", Items: 500,
		Base:    cost{Name: "floor", NS: spread{60e3, 65e3, 70e3}, Allocs: 528, Bytes: 85 << 10},
		Subject: cost{Name: "braid", NS: spread{35e3, 40e3, 50e3}, Allocs: 70, Bytes: 40 << 10},
		Ratio:   spread{0.5, 0.62, 0.8},
		CPU:     spread{0.6, 0.7, 0.9},
	}}
	r.Endurance.Floor = []scenario.Mark{{}, {Cycles: 10, Heap: 1000}, {Cycles: 20, Heap: 2000}}
	r.Endurance.Braid = []scenario.Mark{
		{},
		{Cycles: 10, Heap: 2000, Stack: 4096, Frames: 9, Reader: 8},
		{Cycles: 20, Heap: 6000, Stack: 4096, Frames: 9, Reader: 16},
	}
	r.Verdicts = r.verdicts()
	return r
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := sample().writeTable(&out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(out.String(), "\n")
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	want := []string{
		"go1 os/arch, 2 CPUs, full form: 3 passes, figures are medians of a pass each.",
		"Quote the ratios: times depend on what else the machine does, and so does each",
		`hand-over between goroutines. "cpu" is the ratio in processor time, which does not.`,
		"",
		"work base subject ratio (min–max) cpu allocs of base KiB of base an item",
		"a deltas floor 65.0 µs braid 40.0 µs 0.62× (0.50–0.80) 0.70× 70.0 528 40.0 85.0 0.14 allocs a delta",
		"",
		"one long run: cycles floor kept a cycle braid kept a cycle braid stacks depth at the model at the reader",
		"10 100 B 200 B 4 KiB 9 8",
		"20 100 B 300 B 4 KiB 9 16",
		"",
		"contract measured (min–max) in cpu must aim prototype",
		"a: 500 streamed deltas 0.62× (0.50–0.80) 0.70× 2.50× 1.00× 0.60× OK",
		"a: allocations a delta 0.14 3.00 1.20 0.14 OK",
		"10000 cycles: heap a cycle, whole run to first tenth 1.50× 1.25× – – OVER MUST",
		"10000 cycles: stack depth, last to first 2.00× 1.00× – – OVER MUST",
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProgressStaysOutOfAPipe(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{w: &out}
	p.say("hello")
	p.clear()
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
	p.on = true
	p.say("hello")
	p.clear()
	p.clear()
	if got, want := out.String(), eraseLine+"hello"+eraseLine; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
