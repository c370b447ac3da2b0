package admin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

// listRuns lists the runs of all tenants, or of one with --tenant.
func (a *admin) listRuns(ctx context.Context, _ string) error {
	o, err := a.logged()
	if err != nil {
		return err
	}
	f := a.in.Flags
	filter := client.RunFilter{
		Tenant: f["tenant"], Status: f["status"], User: f["user"], Agent: f["agent"], ErrorKind: f["error-kind"], Since: o.From, Page: o.Page,
	}
	head := []string{"CREATED", "TENANT", "RUN", "CONVERSATION", "TURN", "STATUS", "ERROR", "USER", "AGENT"}
	return showList(a, a.client.Runs(ctx, filter), head, func(r *client.OperatedRun) []string {
		status := r.Status
		if r.Cancelled {
			status += " (cancel requested)"
		}
		return []string{
			when(r.CreatedAt), r.Tenant, r.ID, r.Conversation, strconv.Itoa(r.Turn), status, orDash(r.ErrorKind), orDash(r.User), orDash(r.Agent),
		}
	})
}

// cancelRun cancels a run of any tenant and prints it.
func (a *admin) cancelRun(ctx context.Context, id string) error {
	if err := a.client.CancelRun(ctx, id); err != nil {
		return err
	}
	run, err := a.client.Run(ctx, id)
	if err != nil {
		return err
	}
	if a.in.On("json") {
		return a.showOne(run)
	}
	_, err = fmt.Fprintf(a.p.Stdout, "%s of the tenant %s is asked to end.\n", term.CleanLine(run.ID), term.CleanLine(run.Tenant))
	return term.OutputError(err)
}
