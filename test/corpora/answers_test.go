package corpora

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table counts cases by source and API.
type table struct {
	mu    sync.Mutex
	cells map[string][2]int
}

func (c *table) add(x *exchange, right bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cells == nil {
		c.cells = map[string][2]int{}
	}
	key := x.source + "|" + string(x.api)
	n := c.cells[key]
	n[1]++
	if right {
		n[0]++
	}
	c.cells[key] = n
}

func (c *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s", "")
	for _, a := range apis {
		fmt.Fprintf(&b, "%16s", a)
	}
	for _, source := range sources {
		fmt.Fprintf(&b, "\n%-20s", source)
		for _, a := range apis {
			cell := "–"
			if n, ok := c.cells[source+"|"+string(a)]; ok {
				cell = fmt.Sprintf("%d/%d", n[0], n[1])
			}
			fmt.Fprintf(&b, "%16s", cell)
		}
	}
	return b.String()
}

// TestStreams reads every recorded stream: whole, in random pieces, and byte by byte.
func TestStreams(t *testing.T) { answers(t, true) }

// TestWholeAnswers reads every recorded answer that is not a stream.
func TestWholeAnswers(t *testing.T) { answers(t, false) }

func answers(t *testing.T, streams bool) {
	all := recorded(t)
	var counts table
	var once faults
	s := newStage(t)
	known, differs := exceptions[streams], map[string]string{}
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for i, x := range all {
			if x.status != 200 || x.stream != streams || len(x.body) == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", x.name(), i), func(t *testing.T) {
				t.Parallel()
				why := differ(t, s, &x)
				counts.add(&x, why == "")
				once.add(&x, why == "")
				if why == "" {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				differs[x.name()] = why
				if reason(known, &x) == "" {
					t.Errorf("%s (%s, %s): %s", x.name(), x.api, x.model, why)
				}
			})
		}
	})
	t.Logf("read as recorded:\n%s", &counts)
	once.report(t, streams)
	reasons(t, known, differs)
	stale(t, known, differs)
}

// stale fails for exceptions that are none: nothing differs there, but the recording is there.
func stale(t *testing.T, known, differs map[string]string) {
	t.Helper()
	for _, pattern := range slices.Sorted(maps.Keys(known)) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(differs)), func(name string) bool { return strings.Contains(name, pattern) }) {
			if present(pattern) {
				t.Errorf("the exception %q is none any more", pattern)
			}
		}
	}
}

// present reports whether a recording of the exception is there.
func present(pattern string) bool {
	all, _ := corpus()
	return slices.ContainsFunc(all, func(x exchange) bool { return strings.Contains(x.name(), pattern) })
}

func reason(known map[string]string, x *exchange) string {
	for pattern, why := range known {
		if strings.Contains(x.name(), pattern) {
			return why
		}
	}
	return ""
}

// differ says in which way the provider reads an answer otherwise than it was recorded.
func differ(t *testing.T, s *stage, x *exchange) string {
	want, err := x.expected()
	if err != nil {
		return "the recording cannot be read: " + err.Error()
	}
	ways := map[string]way{"whole": {cut: -1}}
	if x.stream {
		ways["in pieces"] = way{pieces: -1, cut: -1}
		if len(x.body) <= 8<<10 {
			ways["byte by byte"] = way{pieces: 1, cut: -1}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		r, _ := s.play(t.Context(), t, x, ways[name], ask())
		if r.Err != nil {
			return name + ": " + r.Err.Error()
		}
		if r.Stops != 1 {
			return fmt.Sprintf("%s: %d end signals", name, r.Stops)
		}
		have := got(r)
		if want.Stop == "" {
			have.Stop = ""
		}
		if diff := cmp.Diff(want, have); diff != "" {
			return name + " (-recorded +read):\n" + diff
		}
		if x.stream && r.Pieces < x.live() {
			return fmt.Sprintf("%s: the stream has %d pieces of text and thinking, and the provider gives %d", name, x.live(), r.Pieces)
		}
	}
	return ""
}
