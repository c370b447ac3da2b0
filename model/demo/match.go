package demo

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
)

// fits reports whether the rule matches the scene, and stores in it what the reply needs. Cheap conditions come
// first.
func (r *rule) fits(s *scene) bool {
	if r.round != AnyRound && r.round != s.round ||
		r.cycle > 0 && r.cycle != s.req.Cycle ||
		r.attempt > 0 && r.attempt != s.req.Attempt ||
		r.lang != "" && r.lang != s.lang {
		return false
	}
	s.groups, s.result, s.tool, s.args = nil, nil, "", nil
	if len(r.after) > 0 && !r.fitsResult(s) {
		return false
	}
	if r.turn > 0 && r.turn != s.turn() {
		return false
	}
	if len(r.missing) > 0 && !slices.ContainsFunc(r.missing, func(name string) bool { return s.offered(name) == nil }) {
		return false
	}
	if len(r.tool) > 0 {
		i := slices.IndexFunc(r.tool, func(name string) bool { return s.offered(name) != nil })
		if i < 0 {
			return false
		}
		s.tool = r.tool[i]
	}
	return r.fitsUser(s) && r.fitsFinder(s)
}

// fitsResult selects the last new result that matches the conditions.
func (r *rule) fitsResult(s *scene) bool {
	for i := len(s.results) - 1; i >= 0; i-- {
		res := s.results[i]
		if r.failed != nil && *r.failed != res.IsError {
			continue
		}
		if !slices.Contains(r.after, "*") && !slices.Contains(r.after, s.toolOf(res)) {
			continue
		}
		if r.result != nil && !r.result.MatchString(opening(plain(res))) {
			continue
		}
		s.result = res
		return true
	}
	return false
}

func (r *rule) fitsUser(s *scene) bool {
	if len(r.users) == 0 {
		return true
	}
	said := opening(s.said)
	for _, re := range r.users {
		m := re.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		s.groups = make(map[string]string, 2*len(m))
		for i, name := range re.SubexpNames() {
			s.groups[strconv.Itoa(i)] = m[i]
			if name != "" && m[i] != "" {
				s.groups[name] = m[i]
			}
		}
		return true
	}
	return false
}

func (r *rule) fitsFinder(s *scene) bool {
	switch r.finds {
	case FindsArithmetic:
		return s.calculation() != nil
	case FindsOperation:
		c := s.calculation()
		if c == nil {
			return false
		}
		sign, a, b, ok := c.next(doneValues(s.since()))
		if !ok {
			return false
		}
		s.tool, s.args = operationTool(s.req.Tools, sign, a, b)
		return s.tool != ""
	case FindsTool:
		s.tool, s.args = namedTool(s.req.Tools, s.said)
		return s.tool != ""
	default:
		return true
	}
}

func doneValues(results []*event.ToolResult) []string {
	var out []string
	for _, r := range results {
		if !r.IsError {
			out = append(out, plain(r))
		}
	}
	return out
}
