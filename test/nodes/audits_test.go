//go:build unix

package nodes

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
)

// Only the owner of the database can read and remove the audit of an erased tenant.
func TestAuditsOfErasedTenants(t *testing.T) {
	t.Parallel()
	b := migrated(t, needed(t))
	env := []string{"BRAID_POSTGRES_URL=" + b.server}
	s := serve(t, env, "--token-file", tokenFile(t))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	admin := s.client().Admin()
	if _, err := admin.CreateTenant(ctx, "acme", client.TenantSpec{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.UpdateTenant(ctx, "acme", 0, client.Patch{"status": client.Inactive}); err != nil {
		t.Fatal(err)
	}
	gone, err := admin.EraseTenant(ctx, "acme")
	if err != nil || gone.AuditEntries < 2 || gone.AuditKept != gone.AuditEntries {
		t.Fatalf("%+v, %v", gone, err)
	}
	owners := []string{"BRAID_POSTGRES_URL=" + b.owner}
	for _, c := range []struct {
		env   []string
		args  string
		fails bool
		says  string
	}{
		{env, "list", true, "does not own the service's tables"},
		{env, "remove --older-than 0d", true, "does not own the service's tables"},
		{owners, "", true, "audits list"},
		{owners, "remove", true, "--older-than"},
		{owners, "export x", true, "no number of an audit"},
		{owners, "export 7", true, "no entries are kept"},
		{owners, "list", false, "1\tacme\t"},
		{owners, "export 1", false, `"action":"tenant.create"`},
		{owners, "remove --older-than 30d", false, "0 entries were removed"},
		{owners, "remove --older-than 0d", false, "entries were removed"},
		{owners, "list", false, "0 of "},
	} {
		out, code := command(t, c.env, append([]string{"audits"}, strings.Fields(c.args)...)...)
		if (code != 0) != c.fails || !strings.Contains(out, c.says) || strings.Contains(out, plantedOwner) || strings.Contains(out, plantedPassword) {
			t.Errorf("braid audits %s: %d, %s", c.args, code, out)
		}
	}
}
