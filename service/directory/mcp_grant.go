package directory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

// LoadMCPGrant returns the content of a grant and its version; 0 if there is none.
func (d *Directory) LoadMCPGrant(ctx context.Context, k MCPGrantKey) (plain []byte, version int64, err error) {
	const op = "MCP grant"
	var sealed []byte
	err = d.db.Read(ctx, op, k.Tenant, func(tx *database.Tx) error {
		sealed, version = nil, 0
		_, err := tx.Get(`SELECT version, secret FROM mcp_grant WHERE tenant = ? AND id = ? AND life = ?`,
			[]any{k.Tenant, k.ID(), k.Life}, &version, &sealed)
		return err
	})
	if err != nil || version == 0 {
		return nil, 0, err
	}
	if d.keys == nil {
		return nil, 0, noKeyset(op)
	}
	if plain, err = d.keys.Open(sealed, grantPlace(k.Tenant, k.ID(), k.Life)); err != nil {
		return nil, 0, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "a grant for the MCP server " + k.Server + " cannot be decrypted",
			Hint: "revoke it, and sign in again", Err: errors.Join(errSealed, err),
		}
	}
	return plain, version, nil
}

// SaveMCPGrant stores a grant in place of a version that was loaded; 0 means that there was none. A nil info removes the
// grant. It returns [event.ErrConflict] if there is another version now, or the server is gone.
func (d *Directory) SaveMCPGrant(ctx context.Context, k MCPGrantKey, plain []byte, info *MCPGrantInfo, version int64) error {
	const op = "MCP grant"
	if d.keys == nil {
		return noKeyset(op)
	}
	var sealed []byte
	var doc string
	var err error
	if info != nil {
		if sealed, err = d.keys.Seal(plain, grantPlace(k.Tenant, k.ID(), k.Life)); err != nil {
			return &event.Error{Op: op, Kind: event.ErrInternal, Message: "the grant could not be encrypted", Err: err}
		}
		if doc, err = encode(*info); err != nil {
			return err
		}
	}
	return d.db.Write(ctx, op, k.Tenant, func(tx *database.Tx) error {
		var life string
		if _, err := tx.Get(`SELECT life FROM mcp_server WHERE tenant = ? AND id = ?`, []any{k.Tenant, k.Server}, &life); err != nil {
			return err
		}
		if life != k.Life {
			return mcpMoved(op)
		}
		now := database.Micros(database.Now())
		var n int64
		var err error
		switch {
		case info == nil:
			n, err = tx.Exec(`DELETE FROM mcp_grant WHERE tenant = ? AND id = ? AND version = ?`, k.Tenant, k.ID(), version)
			if version == 0 {
				n = 1 // there is none to remove
			}
		case version == 0:
			// A row of an earlier life of the server is replaced. The time makes versions that were never used.
			n, err = tx.Exec(`INSERT INTO mcp_grant (tenant, id, server, person, life, version, created, updated, doc, secret)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, id) DO UPDATE SET life = excluded.life, version = excluded.version,
				created = excluded.created, updated = excluded.updated, doc = excluded.doc, secret = excluded.secret
				WHERE mcp_grant.life <> excluded.life`,
				k.Tenant, k.ID(), k.Server, k.User, k.Life, now, now, now, doc, sealed)
		default:
			n, err = tx.Exec(`UPDATE mcp_grant SET version = version + 1, updated = ?, doc = ?, secret = ?
				WHERE tenant = ? AND id = ? AND life = ? AND version = ?`, now, doc, sealed, k.Tenant, k.ID(), k.Life, version)
		}
		if err == nil && n == 0 {
			err = &event.Error{Op: op, Kind: event.ErrConflict, Message: "the grant has just been changed", Hint: "try again"}
		}
		return err
	})
}

const selectGrant = `SELECT g.id, g.tenant, g.server, g.person, g.created, g.updated, g.doc FROM mcp_grant g`

func scanMCPGrant(scan func(...any) error) (g MCPGrant, err error) {
	var created, updated int64
	var doc string
	if err := scan(&g.ID, &g.Tenant, &g.Server, &g.User, &created, &updated, &doc); err != nil {
		return MCPGrant{}, err
	}
	g.Created, g.Updated = database.Time(created), database.Time(updated)
	return g, decode(doc, &g.MCPGrantInfo)
}

// ListMCPGrants lists the grants for a server, of all users. It returns [event.ErrNotFound] if there is no such server.
func (d *Directory) ListMCPGrants(ctx context.Context, tenant, server string, q Query) ([]MCPGrant, string, error) {
	if _, err := d.GetMCPServer(ctx, tenant, server, 0); err != nil {
		return nil, "", err
	}
	return d.listGrants(ctx, "list MCP grants", tenant, q, `g.server = ?`, server)
}

// ListMCPGrantsOf lists a user's grants for all servers of a tenant.
func (d *Directory) ListMCPGrantsOf(ctx context.Context, tenant, user string, q Query) ([]MCPGrant, string, error) {
	return d.listGrants(ctx, "list own MCP grants", tenant, q, `g.person = ?`, user)
}

func (d *Directory) listGrants(ctx context.Context, op, tenant string, q Query, where, value string) ([]MCPGrant, string, error) {
	q.Status = "" // a grant has none that can be asked for
	return page(ctx, d.db, tenant, false, q, listing[MCPGrant]{
		op: op, args: []any{tenant, value}, scan: scanMCPGrant, prefix: "g.",
		from:  selectGrant + ` JOIN mcp_server s ON s.tenant = g.tenant AND s.id = g.server AND s.life = g.life WHERE g.tenant = ? AND ` + where,
		place: func(g MCPGrant) (string, time.Time) { return g.ID, g.Created },
	})
}

// GetMCPGrant returns a grant for a server. It returns [event.ErrNotFound] if there is none.
func (d *Directory) GetMCPGrant(ctx context.Context, tenant, server, id string) (g MCPGrant, err error) {
	const op = "MCP grant"
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		g, err = one(tx, op, "MCP grant", selectGrant+` WHERE g.tenant = ? AND g.server = ? AND g.id = ?`, []any{tenant, server, id}, scanMCPGrant)
		if isNotFound(err) {
			err = &event.Error{Op: op, Kind: event.ErrNotFound, Code: "MCP_GRANT_NOT_FOUND", Message: "there is no such grant", Hint: "check the id"}
		}
		return err
	})
	return g, err
}

// RecordMCPGrant notes in the audit that a user signed in to a server, or that a grant was revoked.
func (d *Directory) RecordMCPGrant(ctx context.Context, by By, k MCPGrantKey, action string) error {
	return d.db.Write(ctx, "MCP grant", k.Tenant, func(tx *database.Tx) error {
		return record(tx, k.Tenant, by, action, "mcp-server/"+k.Server, map[string]any{"grant": k.ID(), "user": k.User})
	})
}

// signInState is what the state of a sign-in says to this service.
type signInState struct {
	Tenant string `json:"t"`
	Server string `json:"s"`
	User   string `json:"u"`
	Nonce  string `json:"n"`
}

// statePlace is the context for which states of sign-ins are encrypted.
const statePlace = "|mcp_sign_in|state"

// SealSignIn returns a state that only this service can read: it says for which tenant, server and user a sign-in is. nonce
// makes it one that nobody can guess.
func (d *Directory) SealSignIn(k MCPGrantKey, nonce string) (string, error) {
	const op = "sign in"
	if d.keys == nil {
		return "", noKeyset(op)
	}
	plain, err := json.Marshal(signInState{k.Tenant, k.Server, k.User, nonce})
	if err != nil {
		return "", err
	}
	sealed, err := d.keys.Seal(plain, []byte(statePlace))
	if err != nil {
		return "", &event.Error{Op: op, Kind: event.ErrInternal, Message: "the sign-in could not be encrypted", Err: err}
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// OpenSignIn reads the result of [Directory.SealSignIn]. The key has no life. It returns [event.ErrNotFound] for anything else.
func (d *Directory) OpenSignIn(state string) (MCPGrantKey, error) {
	unknown := &event.Error{
		Op: "sign in", Kind: event.ErrNotFound, Code: "MCP_SIGN_IN_NOT_FOUND",
		Message: "there is no such sign-in: it has ended, or was completed before",
		Hint:    "begin again",
	}
	if d.keys == nil || len(state) > 4<<10 || strings.ContainsAny(state, "\r\n") {
		return MCPGrantKey{}, unknown
	}
	sealed, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		return MCPGrantKey{}, unknown
	}
	plain, err := d.keys.Open(sealed, []byte(statePlace))
	if err != nil {
		return MCPGrantKey{}, unknown
	}
	var s signInState
	if err := json.Unmarshal(plain, &s); err != nil || s.Tenant == "" || s.Server == "" {
		return MCPGrantKey{}, unknown
	}
	return MCPGrantKey{Tenant: s.Tenant, Server: s.Server, User: s.User}, nil
}
