package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// entry is one line of go test -json (cmd/test2json, cmd/go/internal/test).
type entry struct {
	Action      string
	Package     string
	Test        string
	Elapsed     float64
	Output      string
	ImportPath  string
	FailedBuild string
}

// report gathers entries, prints progress as they come, and what is worth
// knowing at the end. It is used by one goroutine.
type report struct {
	out      io.Writer
	module   string
	packages map[string]*pkg
	builds   map[string][]string
	failures []string
	skips    []skip
	noTests  int
	sum      totals
}

// pkg is a package whose tests run.
type pkg struct {
	started time.Time
	done    bool
	// tests holds every test that has begun, by its full name.
	tests map[string]*test
	// order is the order in which they began.
	order []string
	// output is what belongs to no test.
	output []string
	seed   string
}

// test is a test, subtest, example or fuzz target.
type test struct {
	action string // "pass", "fail", "skip", or "" while it runs
	output []string
}

// skip is a test that did not run, and why.
type skip struct{ pkg, test, reason string }

func newReport(out io.Writer, module string) *report {
	return &report{
		out:      out,
		module:   module,
		packages: map[string]*pkg{},
		builds:   map[string][]string{},
	}
}

// line takes one line of the command's output; it reports whether something
// was printed. What is no JSON object of go test is passed on as it is.
func (r *report) line(raw []byte) bool {
	var e entry
	if len(raw) == 0 || raw[0] != '{' ||
		json.Unmarshal(raw, &e) != nil || e.Action == "" { //nolint:musttag // the field names are go test's own
		fmt.Fprintln(r.out, strings.TrimRight(string(raw), "\n"))
		return true
	}
	if e.Action == "build-output" {
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		return false
	}
	if e.Package == "" {
		return false
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &pkg{started: time.Now(), tests: map[string]*test{}}
		r.packages[e.Package] = p
	}
	if e.Test == "" {
		return r.packageEntry(p, e)
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		t.action = e.Action
		if e.Action == "pass" {
			t.output = nil
		}
	}
	return false
}

// packageEntry takes an entry about the package itself.
func (r *report) packageEntry(p *pkg, e entry) bool {
	switch e.Action {
	case "start":
		p.started = time.Now()
	case "output":
		if seed, ok := strings.CutPrefix(e.Output, "-test.shuffle "); ok {
			p.seed = strings.TrimSpace(seed)
			return false
		}
		p.output = append(p.output, e.Output)
	case "pass", "fail", "skip":
		p.done = true
		return r.endPackage(p, e)
	}
	return false
}

// endPackage prints the package's line and its failures, and lets go of its output.
func (r *report) endPackage(p *pkg, e entry) bool {
	name := r.short(e.Package)
	under := p.under()
	var sum totals
	var failed []string
	for _, n := range p.order {
		t := p.tests[n]
		switch {
		case t.action == "skip":
			if !under[n]["skip"] {
				sum.skipped++
				r.skips = append(r.skips, skip{name, n, reason(t.output)})
			}
		case t.action == "pass":
			if under[n] == nil {
				sum.passed++
			}
		case e.Action == "fail":
			// A test without an end was running when the program died.
			if !under[n]["fail"] && !under[n][""] {
				sum.failed++
			}
			failed = append(failed, n)
		}
	}
	if e.Action == "fail" && sum.failed == 0 {
		sum.failed = 1
		r.failures = append(r.failures, name)
	}
	r.sum.passed += sum.passed
	r.sum.failed += sum.failed
	r.sum.skipped += sum.skipped

	if e.Action != "fail" {
		p.tests, p.output = nil, nil
		if sum == (totals{}) {
			r.noTests++
			return false
		}
		skipped := ""
		if sum.skipped > 0 {
			skipped = fmt.Sprintf(", %d skipped", sum.skipped)
		}
		fmt.Fprintf(r.out, "ok    %-40s %6.1fs  %d passed%s\n", name, e.Elapsed, sum.passed, skipped)
		return true
	}

	fmt.Fprintf(r.out, "FAIL  %-40s %6.1fs  %d passed, %d failed\n", name, e.Elapsed, sum.passed, sum.failed)
	for _, o := range r.builds[e.FailedBuild] {
		fmt.Fprint(r.out, "    ", o)
	}
	for _, n := range failed {
		t := p.tests[n]
		if !under[n]["fail"] && !under[n][""] {
			r.failures = append(r.failures, name+" "+n)
		}
		for _, o := range inOrder(t.output) {
			fmt.Fprint(r.out, "    ", o)
		}
		if t.action == "" {
			fmt.Fprintf(r.out, "    %s did not end\n", n)
		}
	}
	for _, o := range p.output {
		fmt.Fprint(r.out, "    ", o)
	}
	if p.seed != "" {
		fmt.Fprintf(r.out, "    the same order again: go test -shuffle=%s %s\n", p.seed, e.Package)
	}
	p.tests, p.output = nil, nil
	return true
}

// inOrder puts a test's verdict, which comes last in a stream, before what the
// test said, and leaves the marks of the stream out.
func inOrder(output []string) []string {
	var verdict, rest []string
	for _, o := range output {
		switch text := strings.TrimLeft(o, " "); {
		case strings.HasPrefix(o, "=== "):
		case strings.HasPrefix(text, "--- "):
			verdict = append(verdict, text)
		default:
			rest = append(rest, o)
		}
	}
	return append(verdict, rest...)
}

// under tells for each test that has subtests how those ended.
func (p *pkg) under() map[string]map[string]bool {
	under := map[string]map[string]bool{}
	for _, name := range p.order {
		for i, c := range name {
			if c != '/' {
				continue
			}
			if under[name[:i]] == nil {
				under[name[:i]] = map[string]bool{}
			}
			under[name[:i]][p.tests[name].action] = true
		}
	}
	return under
}

// where finds the place that testing puts before a message.
var where = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason is what the test said last before it was skipped.
func reason(output []string) string {
	last := ""
	for _, o := range output {
		text := strings.TrimSpace(o)
		switch {
		case strings.HasPrefix(text, "=== "), strings.HasPrefix(text, "--- "), text == "":
		case where.MatchString(o):
			last = strings.TrimSpace(where.ReplaceAllString(o, ""))
		case last != "":
			last += " " + text
		}
	}
	if last == "" {
		return "no reason given"
	}
	return last
}

// alive says that the command is still at work, and on what.
func (r *report) alive(now time.Time) {
	var running []string
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		if p := r.packages[name]; !p.done {
			running = append(running, fmt.Sprintf("%s (%.0fs)", r.short(name), now.Sub(p.started).Seconds()))
		}
	}
	if len(running) == 0 {
		running = []string{"the compiler"}
	}
	fmt.Fprintln(r.out, "      still at work:", strings.Join(running, ", "))
}

// stopped ends the packages that are still running as failures.
func (r *report) stopped(why string) {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		p := r.packages[name]
		if p.done {
			continue
		}
		p.done = true
		p.output = append(p.output, why+"\n")
		r.endPackage(p, entry{Action: "fail", Package: name, Elapsed: time.Since(p.started).Seconds()})
	}
	fmt.Fprintln(r.out, why)
}

// finish prints what is left to say and gives the counts.
func (r *report) finish() totals {
	// A build that failed without a package to blame has not been shown yet.
	shown := map[string]bool{}
	for name := range r.packages {
		shown[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(r.builds)) {
		pkg, _, _ := strings.Cut(name, " ")
		if !shown[pkg] {
			fmt.Fprint(r.out, strings.Join(r.builds[name], ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		if p := r.packages[name]; !p.done {
			p.output = append(p.output, "the command ended before this package did\n")
			r.endPackage(p, entry{Action: "fail", Package: name})
		}
	}
	if r.noTests > 0 {
		fmt.Fprintf(r.out, "      without tests: %d\n", r.noTests)
	}
	if len(r.failures) > 0 {
		fmt.Fprintln(r.out, "\nfailed:")
		for _, f := range r.failures {
			fmt.Fprintln(r.out, "  "+f)
		}
	}
	r.printSkips()
	fmt.Fprintln(r.out)
	fmt.Fprintln(r.out, r.sum)
	return r.sum
}

// printSkips names each suite that was skipped once for each reason, with how
// many of its tests that concerns.
func (r *report) printSkips() {
	if len(r.skips) == 0 {
		return
	}
	count := map[skip]int{}
	var order []skip
	for _, s := range r.skips {
		s.test, _, _ = strings.Cut(s.test, "/")
		if count[s] == 0 {
			order = append(order, s)
		}
		count[s]++
	}
	fmt.Fprintln(r.out, "\nskipped:")
	for _, s := range order {
		times := ""
		if count[s] > 1 {
			times = fmt.Sprintf(" (%d tests)", count[s])
		}
		fmt.Fprintf(r.out, "  %s %s%s: %s\n", s.pkg, s.test, times, s.reason)
	}
}

// short is the package's path inside the module, "." for its root.
func (r *report) short(path string) string {
	if path == r.module {
		return "."
	}
	return strings.TrimPrefix(path, r.module+"/")
}
