package sandbox_test

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/sandbox"
)

func TestLevelsHaveNames(t *testing.T) {
	t.Parallel()
	for l := sandbox.Namespaces; l <= sandbox.Full; l++ {
		if got, err := sandbox.ParseLevel(l.String()); err != nil || got != l {
			t.Errorf("%s is %s, %v", l, got, err)
		}
	}
	for _, bad := range []string{"", "none", "FULL", "Level(7)"} {
		if got, err := sandbox.ParseLevel(bad); event.KindOf(err) != event.ErrInvalid {
			t.Errorf("%q is %s, %v", bad, got, err)
		}
	}
	if got := sandbox.Level(7).String(); got != "Level(7)" {
		t.Errorf("got %s", got)
	}
}

// TestOptionsAreChecked on every system, before anything starts.
func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	ok := []string{"/bin/true"}
	for name, o := range map[string]sandbox.Options{
		"no program":             {},
		"a relative program":     {Args: []string{"true"}},
		"a NUL":                  {Args: []string{"/bin/true", "a\x00b"}},
		"a folder that leads up": {Args: ok, Dir: "a/../../b"},
		"an absolute folder":     {Args: ok, Dir: "/etc"},
		"no variable":            {Args: ok, Env: []string{"A"}},
		"no name":                {Args: ok, Env: []string{"=A"}},
		"a protected way out":    {Args: ok, Protected: []string{"../x"}},
		"the whole system":       {Args: ok, Readable: []string{"/usr/.."}},
		"a relative folder":      {Args: ok, Readable: []string{"usr"}},
		"a level below all":      {Args: ok, Least: -1},
		"a level above all":      {Args: ok, Least: 7},
		"too much":               {Args: append(ok, string(make([]byte, 2<<20)))},
	} {
		if _, err := sandbox.Run(t.Context(), o); event.KindOf(err) != event.ErrInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
