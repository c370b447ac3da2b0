package agentfile

import (
	"github.com/braidrun/braid"
	"github.com/braidrun/braid/flow"
)

// policies are the words for the policies of a parallel.
var policies = map[string]flow.Policy{"": flow.FirstError, "first_error": flow.FirstError, "all": flow.All, "race": flow.Race}

// parallel reads a parallel.
func (l *loader) parallel(f *fields, name string, depth int) *braid.Agent {
	o := flow.ParallelOptions{AtOnce: f.number("at_once")}
	word := f.text("policy")
	policy, known := policies[word]
	if !known {
		l.fail(f.at("policy"), "write first_error, all or race", "policy is %q", word)
	}
	o.Policy = policy
	if v := f.get("merge"); v != nil {
		if policy == flow.Race {
			l.fail(v, "remove merge, or choose another policy", "a race has one answer, so nothing is merged")
		}
		one := l.fields(v)
		separator := one.get("join")
		if separator == nil {
			l.fail(v, `write {join: ", "}`, "merge does not say how")
		}
		o.Merge = flow.Join(one.text("join"))
		one.end()
	}
	list := l.members(f, depth)
	if l.err != nil {
		return nil
	}
	return flow.Parallel(name, o, list...)
}
