package braid

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/braidrun/braid/internal/answercheck"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
)

// Permissions say which tools an agent may call by itself, for which of them a person is
// asked at each call, and which it may not call at all. The lists hold names of tools, or
// patterns of them in the syntax of [path.Match]: "get_*", "weather___*" for all tools of the
// MCP server called weather, "*". A name counts before a pattern, the pattern with more
// letters that are no wildcards before that with fewer, and among equals Deny before Ask
// before Allow. What nothing fits is allowed.
//
// The zero value allows everything.
type Permissions struct {
	Allow []string
	Ask   []string
	Deny  []string
	// Grants keeps what people have allowed for always. nil keeps it in memory as long as the agent lives.
	Grants grant.Store
}

// Permit sets what the agent may call. It holds for what the model asks for, also of agents
// that are used as tools below it, and it is asked after the hooks before a tool, about what
// they made of the call. Of several the strictest counts.
//
// A call that is denied, or that a person refuses, is an error result, which the model reads
// with the person's reason. One for which a person is to be asked waits as [Ask] does, and other
// calls go on. If a hook changes the tool or the arguments after the approval, or the tool changes
// its description or schema, Braid asks again.
//
// A call that had begun when its driver died goes by the log: it was permitted then.
func Permit(p Permissions) Part {
	return partFunc(func(a *Agent) error {
		policy, err := policyOf(&p)
		if err != nil {
			err.Op = "agent " + a.set.name
			return err
		}
		a.set.permits = append(a.set.permits, policy)
		return nil
	})
}

// permission is what a policy says of a tool; the stricter one is the greater.
type permission uint8

const (
	permitted permission = iota
	toAsk
	denied
)

// rule is one pattern of a policy.
type rule struct {
	pattern string
	do      permission
	// letters counts those that are no wildcards; a name without has more than any pattern.
	letters int
}

// policy is what [Permissions] say, in the order in which it is looked through.
type policy struct {
	rules  []rule
	grants grant.Store
}

func policyOf(p *Permissions) (*policy, *event.Error) {
	o := &policy{grants: p.Grants}
	if o.grants == nil {
		o.grants = &grant.Memory{}
	}
	for do, list := range [][]string{permitted: p.Allow, toAsk: p.Ask, denied: p.Deny} {
		for _, pattern := range list {
			letters, ok := lettersOf(pattern)
			if !ok {
				return nil, &event.Error{
					Kind: event.ErrInvalid, Message: fmt.Sprintf("%q is no pattern of tools' names", pattern),
					Hint: `use letters, digits, _ and -, with * for any number of them and ? for one, as in "get_*"`,
				}
			}
			o.rules = append(o.rules, rule{pattern: pattern, do: permission(do), letters: letters})
		}
	}
	slices.SortStableFunc(o.rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.letters, a.letters), cmp.Compare(b.do, a.do))
	})
	return o, nil
}

// lettersOf counts the letters of a pattern that are no wildcards. ok is false for one that
// no tool's name can fit.
func lettersOf(pattern string) (n int, ok bool) {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return 0, false
	}
	wild, class := false, false
	for _, r := range pattern {
		switch {
		case class:
			class = r != ']'
		case r == '[':
			wild, class = true, true
		case r == '*' || r == '?':
			wild = true
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-':
			n++
		default:
			return 0, false
		}
	}
	if !wild {
		n = 1 << 20
	}
	return n, true
}

// of says what the policy makes of a tool.
func (p *policy) of(tool string) permission {
	for i := range p.rules {
		if fits, _ := path.Match(p.rules[i].pattern, tool); fits {
			return p.rules[i].do
		}
	}
	return permitted
}

// Check says whether a list holds what is no pattern of tools' names: an error of the kind
// [event.ErrInvalid].
func (p Permissions) Check() error {
	if _, err := policyOf(&p); err != nil {
		return err
	}
	return nil
}

// Idle lists those of the patterns that fit none of the tools: most likely they are
// misspelt, and hold nothing back.
func (p Permissions) Idle(tools []string) (idle []string) {
	for _, list := range [][]string{p.Allow, p.Ask, p.Deny} {
		for _, pattern := range list {
			if !slices.ContainsFunc(tools, func(name string) bool { fits, _ := path.Match(pattern, name); return fits }) {
				idle = append(idle, pattern)
			}
		}
	}
	return idle
}

// permission is what all policies say that hold in a scope, and those of them that ask.
func (d *driver) permission(s *fold.Scope, tool string) (strictest permission, asking []*policy) {
	for ; s != nil; s = s.Parent {
		agent := d.agentOf(s.Agent)
		if agent == nil {
			continue
		}
		for _, p := range agent.permits {
			do := p.of(tool)
			if do == toAsk {
				asking = append(asking, p)
			}
			strictest = max(strictest, do)
		}
	}
	return strictest, asking
}

// restrained reports whether one of the calls is not simply permitted, or has an answer that
// says whether it is: a policy may have been there when it was asked for.
func (d *driver) restrained(s *fold.Scope, calls []*fold.Call) bool {
	for _, c := range calls {
		if d.cfg.policed {
			if do, _ := d.permission(s, c.Name); do != permitted {
				return true
			}
		}
		if slices.ContainsFunc(c.Extra().Questions, func(q *fold.Ask) bool { return q.Name == event.PermissionQuestion }) {
			return true
		}
	}
	return false
}

// permit is the stage of the policies. It looks at a call as the hooks before it have left it.
func (d *driver) permit(w *toolWork) {
	c, p := w.call, &w.decision
	args := c.Args
	if p.args != nil {
		args = p.args
	}
	if p.logged || p.refused != nil || c.tool == nil || args == nil || c.waits() {
		return
	}
	if _, ofTheLoop := c.tool.(answerTool); ofTheLoop {
		return // the model's answer in another form: nothing is done
	}
	permits := c.consent.permits
	if !d.cfg.policed && len(permits) == 0 {
		return
	}
	do, asking := d.permission(w.scope, c.Name)
	tool := c.Name
	if p.runs != "" {
		tool = p.runs
		also, more := d.permission(w.scope, tool)
		do, asking = max(do, also), append(asking, more...)
	}
	if do == denied {
		p.refuse(event.ErrPermission, "the tool "+tool+" is not allowed here")
		return
	}
	if do == permitted && len(permits) == 0 {
		return
	}
	exact, err := canonical(args)
	if err != nil {
		p.refuse(event.ErrInvalid, "the arguments are no usable JSON: "+err.Error())
		return
	}
	need := grant.Grant{
		Tenant: d.row.Tenant, User: d.row.User, Agent: c.Agent, Tool: tool, ToolHash: toolHash(c.tool), Args: exact,
	}
	if i := slices.IndexFunc(permits, func(q *fold.Ask) bool { return answersGrant(q, &need) }); i >= 0 {
		p.heed(c, permits[i], need, asking)
		return
	}
	if do == permitted || grantInState(&need, c) || grantedBy(c, asking, need) {
		return
	}
	q := event.Asked{
		Ask: event.AskApproval, Name: event.PermissionQuestion, Prompt: "May " + c.Agent + " run " + tool + "?",
		Schema: answercheck.PermissionSchema(),
	}
	c.questions.add(&q, len(c.questions.answered))
	last := &c.questions.asked[len(c.questions.asked)-1]
	last.Tool, last.Args, last.ToolHash = tool, args, need.ToolHash
}

// answersGrant reports whether a question was about this very call. A question without a hash comes from an
// earlier version. It is about no call: nobody knows what the tool said of itself then.
func answersGrant(q *fold.Ask, g *grant.Grant) bool {
	return q.Tool == g.Tool && q.ToolHash == g.ToolHash && same(q.Args, g.Args)
}

// heed does what a user has answered.
func (p *callDecision) heed(c *runningCall, q *fold.Ask, need grant.Grant, asking []*policy) {
	var a event.Approval
	if err := json.Unmarshal(q.Value, &a); err != nil {
		a = event.Approval{} // null, or something that an earlier version let pass: it is no yes
	}
	if !a.Approved {
		why := "a person refused this call"
		if a.Reason != "" {
			why += ": " + validText(a.Reason)
		}
		p.refuse(event.ErrPermission, why)
		c.did.endTurn = c.did.endTurn || a.Stop
		return
	}
	c.consent.approval, c.consent.by = &a, q.By
	if a.Args != nil {
		if err := strictjson.Check(a.Args, strictjson.DefaultDepth); err != nil {
			p.refuse(event.ErrInvalid, "the arguments that a person gave are no usable JSON")
			return
		}
		p.args = a.Args
		return // a grant would be for the arguments that were asked about
	}
	if a.AnyArgs {
		need.Args, need.AnyArgs = nil, true
	}
	need.By, need.At = q.By, time.Now()
	switch a.Lasts {
	case event.LastsConversation:
		grantToState(&need, c)
	case event.LastsAlways:
		for _, policy := range asking {
			if err := policy.grants.Grant(c, need); err != nil {
				p.notice = &event.Notice{
					Code: "grant_not_kept", Text: "That " + need.Tool + " is allowed always could not be kept; it is allowed this once.",
				}
			}
		}
	}
}

// grantedBy reports whether each of the policies that ask has a grant for the call. Where that
// cannot be found out, a person is asked.
func grantedBy(ctx context.Context, asking []*policy, call grant.Grant) bool {
	for _, p := range asking {
		if ok, err := p.grants.Granted(ctx, call); err != nil || !ok {
			return false
		}
	}
	return true
}

// same reports whether arguments are exactly those that canonical gave.
func same(args, exact json.RawMessage) bool {
	other, err := canonical(args)
	return err == nil && bytes.Equal(other, exact)
}
