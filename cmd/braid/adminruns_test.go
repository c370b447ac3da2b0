package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/journal"
)

// braid admin runs lists the runs of all tenants and cancels one.
func TestAdminRuns(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.do(0, "", "tenant", "create", "acme")
	o.do(0, "", "tenant", "create", "beta")
	for id, owner := range map[string]string{"run_1": "acme", "run_2": "beta"} {
		if _, err := o.store.Admit(t.Context(), journal.Run{ID: id, Conversation: "conv_" + id, Tenant: owner, User: "ann\x1b[2J", Agent: "clerk"}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.store.Acquire(t.Context(), id, 0); err != nil { // as if another process drove it
			t.Fatal(err)
		}
	}
	out, _ := o.do(0, "", "runs", "list", "--tenant", "acme", "--status", "open")
	if fields := strings.Split(strings.TrimSpace(out), "\t"); len(fields) != 9 || fields[1] != "acme" || fields[2] != "run_1" || fields[5] != "running" || strings.Contains(out, "\x1b") {
		t.Errorf("the list is %q", out)
	}
	if out, _ := o.do(0, "", "runs", "list"); strings.Count(out, "\n") != 2 {
		t.Errorf("without a filter: %q", out)
	}
	if out, _ := o.do(0, "", "runs", "list", "--status", "failed"); out != "" {
		t.Errorf("failed runs: %q", out)
	}
	o.do(2, "", "runs", "list", "--status", "asleep")
	o.do(2, "", "runs", "list", "--from", "yesterday")
	o.do(2, "", "runs", "cancel")
	if out, _ := o.do(0, "", "runs", "cancel", "run_1"); out != "run_1 of the tenant acme is asked to end.\n" {
		t.Errorf("cancel prints %q", out)
	}
	out, _ = o.do(0, "", "runs", "list", "--json", "--tenant", "acme")
	var run client.OperatedRun
	if err := json.Unmarshal([]byte(out), &run); err != nil || !run.Cancelled || run.Conversation != "conv_run_1" {
		t.Errorf("it is %+v (%v)", run, err)
	}
	if out, _ := o.do(0, "", "audit", "list", "--tenant", "acme", "--action", "run.cancel"); !strings.Contains(out, "run/run_1") {
		t.Errorf("the audit has %q", out)
	}
	o.do(12, "", "runs", "cancel", "run_9")
}
