package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"time"

	"github.com/braidrun/braid/internal/answercheck"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
)

// Permission is what a policy says of a tool; the stricter one is the greater.
type Permission uint8

// The permissions, from the mildest on.
const (
	Permitted Permission = iota
	ToAsk
	Denied
)

// Rule is one pattern of a policy.
type Rule struct {
	Pattern string
	Do      Permission
	// Letters counts those that are no wildcards; a name without has more than any pattern.
	Letters int
}

// Policy is what the root's Permissions say, in the order in which it is looked through.
type Policy struct {
	Rules  []Rule
	Grants grant.Store
}

// of says what the policy makes of a tool.
func (p *Policy) of(tool string) Permission {
	for i := range p.Rules {
		if fits, _ := path.Match(p.Rules[i].Pattern, tool); fits {
			return p.Rules[i].Do
		}
	}
	return Permitted
}

// permission is what all policies say that hold in a scope, and those of them that ask.
func (d *driver) permission(s *fold.Scope, tool string) (strictest Permission, asking []*Policy) {
	for ; s != nil; s = s.Parent {
		agent := d.agentOf(s.Agent)
		if agent == nil {
			continue
		}
		for _, p := range agent.Permits {
			do := p.of(tool)
			if do == ToAsk {
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
			if do, _ := d.permission(s, c.Name); do != Permitted {
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
	if do == Denied {
		p.refuse(event.ErrPermission, "the tool "+tool+" is not allowed here")
		return
	}
	if do == Permitted && len(permits) == 0 {
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
	if do == Permitted || grantInState(&need, c) || grantedBy(c, asking, need) {
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
func (p *callDecision) heed(c *runningCall, q *fold.Ask, need grant.Grant, asking []*Policy) {
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
			if err := policy.Grants.Grant(c, need); err != nil {
				p.notice = &event.Notice{
					Code: "grant_not_kept", Text: "That " + need.Tool + " is allowed always could not be kept; it is allowed this once.",
				}
			}
		}
	}
}

// grantedBy reports whether each of the policies that ask has a grant for the call. Where that
// cannot be found out, a person is asked.
func grantedBy(ctx context.Context, asking []*Policy, call grant.Grant) bool {
	for _, p := range asking {
		if ok, err := p.Grants.Granted(ctx, call); err != nil || !ok {
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
