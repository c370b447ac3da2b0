// Command bench times Braid against a loop written by hand, package
// [github.com/braidrun/braid/bench/floor], in the same process and the same
// moments, and the built command braid serve against bare net/http, each in a process of
// its own on one core; and prints the ratios beside what the design promises.
//
//	go run ./bench [--short] [--json] [--only a,b] [--profile dir]
//
// Rows of a server with tenants are measured only where --only names them: server-tenants (the
// loads with keys, tenants and logs on, each to the plain server on the same store in the
// same pass; those in -postgres too), server-refused, server-crowd (a turn among 100,000
// conversations; -sqlite and -postgres each alone, five minutes and more) and
// server-messages-10000. PostgreSQL is a private server from the system's
// binaries; where there is none its sides are skipped, and the table names them.
//
// It fails when a side does other work than it should and never because
// something is slow: time on a shared machine proves nothing by itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"github.com/braidrun/braid/bench/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, isTerminal(os.Stderr))
	stop()
	os.Exit(code)
}

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// options are the command's flags.
type options struct {
	short   bool
	json    bool
	only    []string
	profile string
}

// The names in --only that are not rows: the long run, and the latency of events through the hub.
const (
	longRun = "cycles"
	hubRun  = "hub"
)

func run(ctx context.Context, args []string, out, errOut io.Writer, terminal bool) int {
	if len(args) > 0 && args[0] == serverSide {
		if err := serveSide(ctx, args[1:], os.Stdin, out); err != nil {
			_, _ = fmt.Fprintln(errOut, "bench:", err)
			return exitFailed
		}
		return exitOK
	}
	opt, err := parse(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = measure(ctx, opt, out, &progress{w: errOut, on: terminal})
	}
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(errOut, "bench: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		_, _ = fmt.Fprintln(errOut, "bench:", err)
		return exitUsage
	default:
		_, _ = fmt.Fprintln(errOut, "bench:", err)
		return exitFailed
	}
}

type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func parse(args []string, errOut io.Writer) (options, error) {
	var opt options
	var only string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.BoolVar(&opt.short, "short", false, "measure for less than two minutes")
	fs.BoolVar(&opt.json, "json", false, "print JSON instead of tables")
	fs.StringVar(&only, "only", "", "only these `rows`, such as a,b or e-1000; "+longRun+" is the long run, "+hubRun+" the hub")
	fs.StringVar(&opt.profile, "profile", "", "also write CPU and allocation profiles of each row to this `directory`")
	fs.Usage = func() {
		_, _ = fmt.Fprint(errOut, "Times Braid against a loop written by hand.\n\nUsage: go run ./bench [flags]\n\n")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return opt, err
		}
		return opt, &usageError{err.Error()}
	}
	if fs.NArg() > 0 {
		return opt, &usageError{fmt.Sprintf("unexpected argument %q; bench takes flags only", fs.Arg(0))}
	}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name != "" {
			opt.only = append(opt.only, name)
		}
	}
	return opt, nil
}

// wants reports whether a row is selected by its id or its first letter.
func (o *options) wants(id string) bool {
	if len(o.only) == 0 {
		return true
	}
	for _, name := range o.only {
		if id == name || strings.HasPrefix(id, name+"-") {
			return true
		}
	}
	return false
}

// check refuses names that select nothing.
func (o *options) check(pairs []scenario.Pair) error {
	ids := make([]string, 0, len(pairs)+1)
	for i := range pairs {
		ids = append(ids, pairs[i].ID)
	}
	for _, row := range serverRows() {
		ids = append(ids, row.ID)
	}
	for _, r := range refusals(true) {
		ids = append(ids, r.id)
	}
	for _, c := range crowds() {
		ids = append(ids, c.id)
	}
	ids = append(ids, messagesRow, syncsRow, readyRun, longRun, hubRun)
	for _, name := range o.only {
		one := options{only: []string{name}}
		found := false
		for _, id := range ids {
			found = found || one.wants(id)
		}
		if !found {
			return &usageError{fmt.Sprintf("no row %q; there are %s", name, strings.Join(ids, ", "))}
		}
	}
	return nil
}

func measure(ctx context.Context, opt options, out io.Writer, show *progress) (err error) {
	pairs := scenario.Pairs()
	if err := opt.check(pairs); err != nil {
		return err
	}
	pl := fullPlan
	if opt.short {
		pl = shortPlan
	}
	rep := report{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Short: opt.short, Passes: pl.Passes,
	}
	defer show.clear()
	if opt.wants("d") || opt.wants("d-tool") {
		// Measure this before anything else uses a tool, because there is only one first time.
		var micros []float64
		for _, t := range scenario.FirstTimes() {
			micros = append(micros, float64(t.Nanoseconds())/1e3)
		}
		rep.FirstMicros = spreadOf(micros)
		kept := scenario.MeasureKept()
		rep.Kept = &kept
	}
	defer func() { err = errors.Join(err, closePairs(pairs)) }()
	timers, err := timeRows(ctx, &opt, pl, pairs, show)
	if err != nil {
		return err
	}
	for _, t := range timers {
		rep.Rows = append(rep.Rows, t.row())
	}
	if opt.wants(longRun) {
		show.say("one long run of %d cycles", pl.Cycles)
		if rep.Endurance.Floor, err = scenario.Endurance(false, pl.Cycles, pl.Every); err != nil {
			return err
		}
		if rep.Endurance.Braid, err = scenario.Endurance(true, pl.Cycles, pl.Every); err != nil {
			return err
		}
	}
	if opt.wants(hubRun) {
		if err := timeHub(ctx, &rep, pl, show); err != nil {
			return err
		}
	}
	var braid command
	defer func() { err = errors.Join(err, braid.close()) }()
	if err := timeServer(ctx, &opt, &rep, pl, &braid, show); err != nil {
		return err
	}
	if err := timeReady(ctx, &opt, &rep, pl, &braid, show); err != nil {
		return err
	}
	if opt.profile != "" {
		if err := os.MkdirAll(opt.profile, 0o750); err != nil {
			return err
		}
		for _, t := range timers {
			show.say("profile of %s", t.pair.ID)
			if err := profile(ctx, opt.profile, t.pair, t.n[1], pl.Profile); err != nil {
				return err
			}
		}
	}
	rep.Verdicts = rep.verdicts()
	show.clear()
	if opt.json {
		return rep.writeJSON(out)
	}
	return rep.writeTable(out)
}

// timeHub measures the latency of events through the hub, once per pass.
func timeHub(ctx context.Context, rep *report, pl plan, show *progress) error {
	var median, most []float64
	for n := range pl.Passes {
		show.say("pass %d of %d: events through the hub", n+1, pl.Passes)
		p50, p99, err := scenario.OnTheWay(ctx, pl.Hub)
		if err != nil {
			return err
		}
		median = append(median, float64(p50.Nanoseconds())/1e3)
		most = append(most, float64(p99.Nanoseconds())/1e3)
	}
	rep.HubMicros, rep.HubTailMicros = spreadOf(median), spreadOf(most)
	return nil
}

// closePairs frees what the rows keep between batches.
func closePairs(pairs []scenario.Pair) error {
	var errs []error
	for i := range pairs {
		if pairs[i].Close != nil {
			errs = append(errs, pairs[i].Close())
		}
	}
	return errors.Join(errs...)
}

// timeRows measures all rows in each pass, so that a busy moment of the machine affects only one pass of a row.
func timeRows(
	ctx context.Context, opt *options, pl plan, pairs []scenario.Pair, show *progress,
) ([]*timer, error) {
	var timers []*timer
	for i := range pairs {
		if opt.wants(pairs[i].ID) {
			timers = append(timers, newTimer(&pairs[i]))
		}
	}
	for n := range pl.Passes {
		for _, t := range timers {
			show.say("pass %d of %d: %s, %s", n+1, pl.Passes, t.pair.ID, t.pair.Name)
			if err := t.pass(ctx, pl, n); err != nil {
				return nil, fmt.Errorf("%s: %w", t.pair.ID, err)
			}
		}
	}
	return timers, nil
}
