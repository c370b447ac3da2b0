package agentfile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/tool"
)

// after is an agent that answers with its name after some seconds, or fails if its name begins with "bad". most is the largest
// number of such agents at one time.
func after(name string, seconds int, now, most *atomic.Int32) *braid.Agent {
	return flow.Func(name, func(ctx context.Context, _ string) (string, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if strings.HasPrefix(name, "bad") {
			return "", errors.New(name + " is down")
		}
		return name, nil
	}, tool.Pure())
}

func TestAParallelOfAFile(t *testing.T) {
	t.Parallel()
	for options, c := range map[string]struct {
		want, err string
		most      int32
		took      int
	}{
		"members: [slow, quick]":                                       {want: "slow quick", most: 2, took: 3},
		"members: [slow, quick], merge: {join: '; '}":                  {want: "slow; quick", most: 2, took: 3},
		"members: [slow, quick], merge: {join: ''}":                    {want: "slowquick", most: 2, took: 3},
		"members: [slow, quick], at_once: 1":                           {want: "slow quick", most: 1, took: 4},
		"members: [slow, bad], policy: all":                            {want: "slow", most: 2, took: 3},
		"members: [slow, bad]":                                         {err: "bad is down", most: 2, took: 2},
		"members: [slow, bad], policy: first_error":                    {err: "bad is down", most: 2, took: 2},
		"members: [slow, quick, bad], policy: race":                    {want: "quick", most: 3, took: 1},
		"members: [slow, {name: x, kind: sequence, members: [quick]}]": {want: "slow quick", most: 2, took: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int32
			n := names()
			for name, seconds := range map[string]int{"slow": 3, "quick": 1, "bad": 2} {
				n.Agents[name] = after(name, seconds, &now, &most)
			}
			f, err := Read([]byte("{kind: parallel, name: p, "+options+"}"), n)
			if err != nil {
				t.Errorf("%s: %v", options, err)
				return
			}
			begun := time.Now()
			r, err := f.Agent.Run(t.Context(), "go")
			got := strings.ReplaceAll(r.Text(), "\n", " ")
			if c.err == "" && (got != c.want || err != nil) || c.err != "" && !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("%s: %q, %v", options, got, err)
			}
			if took := time.Since(begun); took != time.Duration(c.took)*time.Second || most.Load() != c.most {
				t.Errorf("%s took %s with %d at once", options, took, most.Load())
			}
		})
	}
}

func TestALoopOfAFile(t *testing.T) {
	t.Parallel()
	n := names()
	n.Conditions["third"] = func(_ context.Context, v flow.Visit) (bool, error) {
		return v.Node == "b" && strings.Count(v.Text(), "a(") == 3, nil
	}
	n.Conditions["fails"] = func(context.Context, flow.Visit) (bool, error) { return false, errors.New("no idea") }
	for options, c := range map[string]struct{ want, err string }{
		"members: [a], max: 2":                                     {want: "a(a(go))"},
		"members: [a, b], max: 1":                                  {want: "b(a(go))"},
		"members: [a, b], until: {contains: 'A(B('}":               {want: "b(a(b(a(go))))"},
		"members: [a, b], until: {equals: 'b(a(go))'}":             {want: "b(a(go))"},
		"members: [a], until: {matches: '^(a.){3}'}":               {want: "a(a(a(go)))"},
		"members: [a, b], until: {call: third}, max: 9":            {want: "b(a(b(a(b(a(go))))))"},
		"members: [a, b], until: {call: third}, max: 2":            {want: "b(a(b(a(go))))"},
		"members: [a], until: {call: fails}":                       {err: "no idea"},
		"members: [a], until: {field: /done, equals: true}":        {err: "the output is not JSON"},
		"members: [a], until: {contains: never, label: x}, max: 1": {want: "a(go)"},
	} {
		f, err := Read([]byte("{kind: loop, name: l, "+options+"}"), n)
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		r, err := f.Agent.Run(t.Context(), "go")
		if c.err == "" && (r.Text() != c.want || err != nil) || c.err != "" && !strings.Contains(fmt.Sprint(err), c.err) {
			t.Errorf("%s: %q, %v", options, r.Text(), err)
		}
	}
}

func TestMistakesOfParallelsAndLoops(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kind: parallel\nname: p":                                                            "line 1, column 1: there are no members",
		"kind: parallel\nname: p\nmembers: [a]\npolicy: first":                               `line 4, column 9: policy is "first"`,
		"kind: parallel\nname: p\nmembers: [a]\npolicy: [all]":                               "line 4, column 9: policy is not a text",
		"kind: parallel\nname: p\nmembers: [a]\nat_once: -1":                                 "line 4, column 10: at_once is not a number",
		"kind: parallel\nname: p\nmembers: [a]\nmerge: join":                                 "line 4, column 8: this is not a mapping",
		"kind: parallel\nname: p\nmembers: [a]\nmerge: {}":                                   "line 4, column 8: merge does not say how",
		"kind: parallel\nname: p\nmembers: [a]\nmerge: {join: x, of: y}":                     `line 4, column 18: there is no key "of"`,
		"kind: parallel\nname: p\nmembers: [a]\nmerge: {join: x}\npolicy: race":              "line 4, column 8: a race has one answer",
		"kind: parallel\nname: p\nmembers: [a]\nmax: 2":                                      `line 4, column 1: there is no key "max"`,
		"kind: loop\nname: l\nmembers: [a]":                                                  `line 1, column 1: the loop "l" has no end`,
		"kind: loop\nname: l\nmembers: [a]\nmax: 0":                                          `the loop "l" has no end`,
		"kind: loop\nname: l\nmax: 2":                                                        "line 1, column 1: there are no members",
		"kind: loop\nname: l\nuntil: {contains: x}":                                          "there are no members",
		"kind: loop\nname: l\nmembers: [a]\nmax: many":                                       "line 4, column 6: max is not a number",
		"kind: loop\nname: l\nmembers: [a]\nuntil: done":                                     "line 4, column 8: this is not a mapping",
		"kind: loop\nname: l\nmembers: [a]\nuntil: {}":                                       "line 4, column 8: the condition is not clear",
		"kind: loop\nname: l\nmembers: [a]\nuntil: {contains: x, equals: y}":                 "line 4, column 8: the condition is not clear",
		"kind: loop\nname: l\nmembers: [a]\nuntil: {call: z}":                                `line 4, column 15: there is no condition "z"`,
		"kind: loop\nname: l\nmembers: [a]\nuntil: {matches: '('}":                           "line 4, column 18: matches is not a regular expression",
		"kind: loop\nname: l\nmembers:\n  - {kind: parallel, name: p, members: [z]}\nmax: 1": `line 4, column 41: there is no agent "z"`,
		"kind: loop\nname: a\nmembers: [a]\nmax: 1":                                          `two agents are called "a"`,
	} {
		_, err := Read([]byte(text), names())
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The place of a syntax error is the first character with which no text can go on.
func TestThePlaceOfBrokenYAML(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("# a line of a long file, and nothing more\n", 20_000)
	for text, want := range map[string]string{
		"a: [":                               "line 1, column 4: the file is not YAML: ",
		"name: x\nmodel: a: b":               "line 2, column 9: the file is not YAML: mapping values are not allowed",
		"name: x\nmembers: [a\nmax: 2\n":     "line 2, column 10: ",
		"name: x\n\tmodel: y":                "line 2, column 1: ",
		"name: x\nmodel: y\n  instructions:": "line 3, column 15: ",
		"name: \"x\nmodel: y\n":              "line 1, column 7: ",
		"name: ä\nmodel: ö: b":               "line 2, column 9: ",
		"name: x\nmodel: *m":                 "line 2, column 8: ",
		"}":                                  "line 1, column 1: ",
		"name: x\nmodel: \x01":               "line 2, column 8: ",
		long + "a: b: c\n":                   "line 20001, column ",
	} {
		_, err := Read([]byte(text), names())
		if !errors.Is(err, event.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
}
