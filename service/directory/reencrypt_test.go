package directory_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// tired is a sealer that gives up when it has sealed some more.
type tired struct {
	*keyset.Keyset

	left int
}

func (s *tired) Seal(plain, context []byte) ([]byte, error) {
	if s.left--; s.left == 0 {
		return nil, &event.Error{Kind: event.ErrUnavailable, Message: "no more today"}
	}
	return s.Keyset.Seal(plain, context)
}

// All secrets of all tenants come under the newest key, each bound to its place, also after a break in the
// middle; then the older keys may go.
func TestSecretsAreEncryptedAnew(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, db *database.DB) {
		ctx, operator := t.Context(), directory.By{Operator: true}
		file := filepath.Join(t.TempDir(), "keys.json")
		keys, err := keyset.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		sealer := &tired{Keyset: keys}
		open := func() *directory.Directory {
			d := directory.New(directory.Options{Database: db, Keys: sealer})
			t.Cleanup(func() { _ = d.Close() })
			return d
		}
		d := open()
		count := map[string]int{"": 3, "acme": 120, "zeta": 2} // more than go through one transaction
		all := 0
		for tenant, n := range count {
			if tenant != "" {
				if _, err := d.CreateTenant(ctx, operator, directory.Tenant{ID: tenant}, ""); err != nil {
					t.Fatal(err)
				}
			}
			if tenant == "acme" { // another table with secrets
				if _, err := d.CreateMCPServer(ctx, operator, directory.MCPServer{
					Tenant: tenant, ID: "crm", MCPServerSpec: directory.MCPServerSpec{Type: directory.MCPHTTP, URL: "https://mcp.example/"},
				}, directory.MCPServerInput{Headers: map[string]secret.Secret{"X-Api-Key": secret.New("planted header")}}, ""); err != nil {
					t.Fatal(err)
				}
				all++
			}
			for i := range n {
				m := directory.Model{Tenant: tenant, ID: fmt.Sprintf("m-%03d", i), Provider: "anthropic", Name: "claude"}
				m.Credential.Secret = secret.New(fmt.Sprint("sk-planted ", tenant, i))
				if _, err := d.CreateModel(ctx, operator, m, ""); err != nil {
					t.Fatal(err)
				}
				all++
			}
		}
		if err := keyset.Rotate(file); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Reencrypt(ctx, directory.By{Tenant: "acme"}); !errors.Is(err, event.ErrPermission) {
			t.Errorf("who is not the operator: %v", err)
		}
		if r, err := d.OldSecrets(ctx); err != nil || r.Done != all || r.Current != 0 {
			t.Errorf("before: %+v %v", r, err)
		}
		sealer.left = 110 // in the second transaction of acme's
		if r, err := d.Reencrypt(ctx, operator); !errors.Is(err, event.ErrUnavailable) {
			t.Fatalf("it does not break off: %+v %v", r, err)
		}
		// One that no key opens: it was moved from another's place.
		if err := db.Write(ctx, "move", "zeta", func(tx *database.Tx) error {
			_, err := tx.Exec(`UPDATE model SET secret = (SELECT secret FROM model WHERE tenant = 'zeta' AND id = 'm-000')
				WHERE tenant = 'zeta' AND id = 'm-001'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		r, err := d.Reencrypt(ctx, operator)
		if err != nil || r.Done+r.Current != all-1 || r.Current < 100 || !slices.Equal(r.Unreadable, []string{"zeta/m-001"}) {
			t.Errorf("%+v %v", r, err)
		}
		if r, err := d.Reencrypt(ctx, operator); err != nil || r.Done != 0 || r.Current != all-1 {
			t.Errorf("once more: %+v %v", r, err)
		}
		if n, err := keyset.Prune(file); n != 1 || err != nil {
			t.Fatalf("%d keys went: %v", n, err)
		}
		d = open() // it remembers nothing
		for tenant, n := range count {
			for i := range n {
				m, err := d.GetModel(ctx, tenant, fmt.Sprintf("m-%03d", i))
				if err != nil {
					t.Fatal(err)
				}
				key, err := d.Credential(ctx, m)
				if tenant == "zeta" && i == 1 {
					continue
				}
				if want := fmt.Sprint("sk-planted ", tenant, i); err != nil || key.Reveal() != want {
					t.Fatalf("the key of %s/%s: %v", tenant, m.ID, err)
				}
			}
			if tenant == "acme" {
				server, err := d.GetMCPServer(ctx, tenant, "crm", 0)
				if err != nil {
					t.Fatal(err)
				}
				if stored, err := d.MCPSecrets(ctx, &server); err != nil || stored.Headers["X-Api-Key"].Reveal() != "planted header" {
					t.Errorf("the header of %s: %v", server.ID, err)
				}
			}
			entries, _, err := d.Audit(ctx, tenant, directory.AuditQuery{Action: "secrets.reencrypt"})
			if err != nil || len(entries) == 0 {
				t.Errorf("the audit of %q tells of it %d times: %v", tenant, len(entries), err)
			}
		}
	})
}
