package drive

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/braidrun/braid/internal/answercheck"
	"github.com/braidrun/braid/internal/permission"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/grant"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
)

// permission is what all policies say that hold in a scope, and those of them that ask.
func (d *activeRun) permission(s *fold.Scope, tool string) (strictest permission.Effect, asking []*permission.Policy) {
	for ; s != nil; s = s.Parent {
		agent := d.agentOf(s.Agent)
		if agent == nil {
			continue
		}
		for _, p := range agent.Permits {
			do := p.Effect(tool)
			if do == permission.Ask {
				asking = append(asking, p)
			}
			strictest = max(strictest, do)
		}
	}
	return strictest, asking
}

// restrained reports whether one of the calls is not simply permitted, or has an answer that
// says whether it is: a policy may have been there when it was asked for.
func (d *activeRun) restrained(s *fold.Scope, calls []*fold.Call) bool {
	for _, c := range calls {
		if d.cfg.policed {
			if do, _ := d.permission(s, c.Name); do != permission.Allow {
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
func (d *activeRun) permit(w *toolWork) {
	c, p := w.call, w.decision
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
	permits := c.permits()
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
	if do == permission.Deny {
		p.refuse(event.ErrPermission, "the tool "+tool+" is not allowed here")
		return
	}
	if do == permission.Allow && len(permits) == 0 {
		return
	}
	exact, err := permission.Canonical(args)
	if err != nil {
		p.refuse(event.ErrInvalid, "the arguments are no usable JSON: "+err.Error())
		return
	}
	need := grant.Grant{
		Tenant: d.row.Tenant, User: d.row.User, Agent: c.Agent, Tool: tool, ToolHash: permission.ToolHash(c.tool), Args: exact,
	}
	if i := slices.IndexFunc(permits, func(q *fold.Ask) bool { return permission.Answers(q, &need) }); i >= 0 {
		p.heed(c, permits[i], need, asking)
		return
	}
	if do == permission.Allow || permission.Kept(c, &need) || permission.Granted(c, asking, need) {
		return
	}
	q := event.Asked{
		Ask: event.AskApproval, Name: event.PermissionQuestion, Prompt: "May " + c.Agent + " run " + tool + "?",
		Schema: answercheck.PermissionSchema(),
	}
	c.questions.add(&q)
	asked := c.questions.pending()
	last := &asked[len(asked)-1]
	last.Tool, last.Args, last.ToolHash = tool, args, need.ToolHash
}

// heed does what a user has answered.
func (p *callDecision) heed(c *runningCall, q *fold.Ask, need grant.Grant, asking []*permission.Policy) {
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
		permission.Keep(c, &need)
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
