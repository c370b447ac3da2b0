package service_test

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/service"
)

func TestTraceOf(t *testing.T) {
	t.Parallel()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, c := range []struct {
		parent, state []string
		want          string
	}{
		{[]string{parent}, nil, parent},
		{[]string{parent}, []string{"a=1", "b=2"}, parent + " a=1,b=2"},
		{[]string{parent}, []string{strings.Repeat("a", 513)}, parent},
		{[]string{parent}, []string{"a=\n"}, parent},
		{[]string{parent}, []string{"a=é"}, parent},
		{nil, []string{"a=1"}, ""},
		{[]string{parent, parent}, nil, ""},
		{[]string{""}, nil, ""},
		{[]string{strings.ToUpper(parent)}, nil, ""},
		{[]string{parent + "-more"}, nil, ""},
		{[]string{strings.Replace(parent, "-", "_", 1)}, nil, ""},
		{[]string{"ff" + parent[2:]}, nil, ""},
		{[]string{"00-00000000000000000000000000000000-00f067aa0ba902b7-01"}, nil, ""},
		{[]string{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"}, nil, ""},
	} {
		if got := service.TraceOf(c.parent, c.state); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.parent, c.state, got, c.want)
		}
	}
}
