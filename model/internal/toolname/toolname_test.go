package toolname_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/toolname"
)

var rules = map[toolname.Rule]*regexp.Regexp{
	toolname.Usual:                        regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	{Max: 64}:                             regexp.MustCompile(`^[a-zA-Z0-9_]{1,64}$`),
	{Max: 64, Hyphen: true, Letter: true}: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`),
}

// Accepted names stay unchanged; all others become accepted names and are mapped back.
func TestNamesFitAndComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[a-zA-Z0-9_.-]{0,80}`), rapid.SampledFrom([]string{"files.read", "9lives", "-x", "クエリ", ""}),
		).Draw(t, "name")
		for r, pattern := range rules {
			wire := r.Wire(name)
			if !pattern.MatchString(wire) {
				t.Fatalf("%q is %q by %+v", name, wire, r)
			}
			if r.Plain(name) != pattern.MatchString(name) || r.Plain(name) != (wire == name) {
				t.Fatalf("%q is plain: %t, on the wire %q", name, r.Plain(name), wire)
			}
			if r.Wire(wire) != wire {
				t.Fatalf("%q is changed again", wire)
			}
			back := r.Back([]model.ToolSpec{{Name: "other"}, {Name: name}})
			if own, ok := back[wire]; ok == (wire == name) || (ok && own != name) {
				t.Fatalf("%q comes back as %q", name, own)
			}
		}
	})
}

func TestNamesStayApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 20)
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprint(long, i), fmt.Sprint("a.", i), fmt.Sprint("a-", i), fmt.Sprint("a_", i), fmt.Sprint("a/", i))
	}
	for r := range rules {
		seen := map[string]string{}
		for _, n := range names {
			w := r.Wire(n)
			if other, ok := seen[w]; ok {
				t.Errorf("%q and %q are both %q", n, other, w)
			}
			seen[w] = n
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	strict, visible := toolname.IDRule{Max: 8}, toolname.IDRule{Max: 8, Visible: true}
	var ids toolname.IDs
	for _, c := range []struct {
		id   string
		rule toolname.IDRule
		want string
	}{
		{"a", strict, "a"},
		{"a", strict, "a_2"},
		{"", strict, "call"},
		{"", strict, "call_2"},
		{"x.y:z", strict, "x_y_z"},
		{"x.y:z", visible, "x.y:z"},
		{"tool\nü", visible, "tool___"},
		{"0123456789", strict, "01234567"},
		{"0123456788", strict, "012345_2"},
		{"0123456789", toolname.IDRule{}, "0123456789"},
	} {
		if got := ids.Give(c.id, c.rule); got != c.want || ids.Of(c.id) != c.want {
			t.Errorf("%q is %q, %q to results, want %q", c.id, got, ids.Of(c.id), c.want)
		}
	}
	if !ids.Any() || ids.Of("nobody") != "nobody" {
		t.Errorf("any: %t; an unknown one is %q", ids.Any(), ids.Of("nobody"))
	}
	ids.Cut(1)
	if ids.Of("a") != "a" || ids.Of("") != "" {
		t.Errorf("after the cut a is %q, that without an id %q", ids.Of("a"), ids.Of(""))
	}
	ids.Answer()
	if ids.Of("tool\nü") != "tool\nü" {
		t.Errorf("after the cut and an answer %q", ids.Of("tool\nü"))
	}
	if got := ids.Give("a", strict); got != "a_2" {
		t.Errorf("after the cut %q", got)
	}
}

// After a cut, results belong to the answer before it, however many answers were removed.
func TestCutRemembersTheAnswer(t *testing.T) {
	t.Parallel()
	var ids toolname.IDs
	ids.Answer()
	ids.Give("a", toolname.IDRule{})
	one := ids.Len()
	ids.Answer()
	silent := ids.Len()
	ids.Answer()
	ids.Give("a", toolname.IDRule{})
	if got := ids.Of("a"); got != "a_2" {
		t.Errorf("the second is %q", got)
	}
	ids.Cut(silent)
	if got := ids.Of("b"); got != "b" {
		t.Errorf("an answer without calls has %q", got)
	}
	ids.Cut(one)
	if got := ids.Of("a"); got != "a" {
		t.Errorf("the first is %q", got)
	}
	ids.Cut(0)
	if ids.Any() || ids.Len() != 0 {
		t.Errorf("%d are left", ids.Len())
	}
}
