package directory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// MostMCPServers bounds the servers of a tenant, including inactive ones.
const MostMCPServers = 100

// CreateMCPServer creates a server with its first version. idem is an idempotency key as in
// [Directory.CreateTenant]. It returns [event.ErrQuota] if the tenant has [MostMCPServers].
func (d *Directory) CreateMCPServer(ctx context.Context, by By, s MCPServer, in MCPServerInput, idem string) (MCPServer, error) {
	const op = "create MCP server"
	if err := by.may(op, s.Tenant); err != nil {
		return MCPServer{}, err
	}
	if s.Status == "" {
		s.Status = Active
	}
	s.Life, s.Version, s.Newest, s.Revision, s.Created = newLife(), 1, 1, 1, database.Now()
	s.Updated, s.Document, s.SecretHeaders, s.SecretCredentials = s.Created, nil, nil, nil
	made := s
	made.Created, made.Updated, made.Life = time.Time{}, time.Time{}, ""
	stored, err := in.into(op, &s, nil)
	if err != nil {
		return MCPServer{}, err
	}
	if err := s.check(op); err != nil {
		return MCPServer{}, err
	}
	if err := d.refs.mcpServer(&s, in.Document); err != nil {
		return MCPServer{}, err
	}
	sealed, err := d.sealHeaders(op, &s, stored)
	if err != nil {
		return MCPServer{}, err
	}
	err = d.write(ctx, op, s.Tenant, func(tx *database.Tx) error {
		if err := needTenant(tx, op, s.Tenant); err != nil {
			return err
		}
		if err := lockAgents(tx, s.Tenant); err != nil { // of two writers at once one counts the other's server
			return err
		}
		done, err := repeated(tx, op, s.Tenant, idem, "mcp-server/"+s.ID, made, in.secrets()...)
		if err != nil {
			return err
		}
		if done != "" {
			s, err = getMCPServer(tx, op, s.Tenant, s.ID, 0)
			return err
		}
		n, err := tx.Exec(`INSERT INTO mcp_server (tenant, id, life, status, version, revision, created, updated, secret)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			s.Tenant, s.ID, s.Life, s.Status, s.Newest, s.Revision, database.Micros(s.Created), database.Micros(s.Updated), sealed)
		if err != nil {
			return err
		}
		if n == 0 {
			return &event.Error{
				Op: op, Kind: event.ErrConflict, Code: "MCP_SERVER_EXISTS", Message: "an MCP server with this id exists",
				Hint: "choose another id, or change the existing one",
			}
		}
		if err := roomForMCPServer(tx, op, s.Tenant); err != nil {
			return err
		}
		if err := addMCPVersion(tx, &s, &in); err != nil {
			return err
		}
		return record(tx, s.Tenant, by, "mcp-server.create", "mcp-server/"+s.ID, nil)
	})
	if err != nil {
		return MCPServer{}, err
	}
	return s, nil
}

func roomForMCPServer(tx *database.Tx, op, tenant string) error {
	var n int64
	if _, err := tx.Get(`SELECT count(*) FROM mcp_server WHERE tenant = ?`, []any{tenant}, &n); err != nil || n <= MostMCPServers {
		return err
	}
	return OverQuota(op, "QUOTA_MCP_SERVERS", "the tenant has "+strconv.Itoa(MostMCPServers)+" MCP servers, the most that it may have",
		"change one that is there, or delete one")
}

// addMCPVersion adds the server's version, and stores its document.
func addMCPVersion(tx *database.Tx, s *MCPServer, in *MCPServerInput) error {
	doc, err := encode(s.MCPServerSpec)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO mcp_server_version (tenant, server, version, created, doc) VALUES (?, ?, ?, ?, ?)`,
		s.Tenant, s.ID, s.Version, database.Micros(s.Updated), doc); err != nil {
		return err
	}
	if s.Document != nil && in.Document == nil {
		return nil
	}
	if _, err := tx.Exec(`DELETE FROM mcp_document WHERE tenant = ? AND server = ?`, s.Tenant, s.ID); err != nil || s.Document == nil {
		return err
	}
	packed, err := pack(in.Document)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO mcp_document (tenant, server, digest, data) VALUES (?, ?, ?, ?)`, s.Tenant, s.ID, s.Document.SHA256, packed)
	return err
}

func getMCPServer(tx *database.Tx, op, tenant, id string, version int) (MCPServer, error) {
	which, args := ` AND v.version = s.version`, []any{tenant, id}
	if version > 0 {
		which, args = ` AND v.version = ?`, append(args, version)
	}
	s, err := one(tx, op, "MCP server", selectMCP+` WHERE s.tenant = ? AND s.id = ?`+which, args, scanMCPServer)
	if isNotFound(err) {
		err = mcpNotFound(op)
	}
	return s, err
}

// GetMCPServer returns a server in one of its versions, active or not. Version 0 is the newest.
// Runs use [Directory.MCPServers].
func (d *Directory) GetMCPServer(ctx context.Context, tenant, id string, version int) (s MCPServer, err error) {
	const op = "MCP server"
	if !isSlug(tenant) || !isSlug(id) || version < 0 || version > math.MaxInt32 {
		return MCPServer{}, mcpNotFound(op)
	}
	err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
		s, err = getMCPServer(tx, op, tenant, id, version)
		return err
	})
	return s, err
}

// MCPServers returns all servers of a tenant in their newest versions, by id, from the cache. The
// caller must not change the list.
func (d *Directory) MCPServers(ctx context.Context, tenant string) ([]MCPServer, error) {
	const op = "MCP servers"
	if !isSlug(tenant) {
		return nil, nil
	}
	return lookup(ctx, &d.changes, &d.mcpServers, tenant, func(ctx context.Context) (list []MCPServer, err error) {
		err = d.db.Read(ctx, op, tenant, func(tx *database.Tx) error {
			list = nil
			return tx.List(selectMCP+` AND v.version = s.version WHERE s.tenant = ? ORDER BY s.id`, []any{tenant},
				func(scan func(...any) error) error {
					s, err := scanMCPServer(scan)
					list = append(list, s)
					return err
				})
		})
		return list, err
	})
}

// ListMCPServers lists a tenant's servers, each in its newest version.
func (d *Directory) ListMCPServers(ctx context.Context, tenant string, q Query) (list []MCPServer, next string, err error) {
	return page(ctx, d.db, tenant, false, q, listing[MCPServer]{
		op: "list MCP servers", from: selectMCP + ` AND v.version = s.version WHERE s.tenant = ?`, args: []any{tenant}, scan: scanMCPServer,
		prefix: "s.",
		place:  func(s MCPServer) (string, time.Time) { return s.ID, s.Created },
	})
}

// UpdateMCPServer changes a server as [Directory.UpdateTenant] does: it calls change with the
// newest version. A changed spec becomes a new version.
func (d *Directory) UpdateMCPServer(
	ctx context.Context, by By, tenant, id string, revision int64, change func(s *MCPServer, in *MCPServerInput) error,
) (s MCPServer, err error) {
	const op = "update MCP server"
	if err := by.may(op, tenant); err != nil {
		return MCPServer{}, err
	}
	if err := d.checkChangedDocument(ctx, op, tenant, id, change); err != nil {
		return MCPServer{}, err
	}
	err = d.write(ctx, op, tenant, func(tx *database.Tx) error {
		old, stored, err := d.lockMCPServer(tx, op, tenant, id, revision)
		if err != nil {
			return err
		}
		if s, err = copied(old); err != nil {
			return err
		}
		var in MCPServerInput
		if err := change(&s, &in); err != nil {
			return err
		}
		s.Tenant, s.ID, s.Life, s.Version, s.Newest = old.Tenant, old.ID, old.Life, old.Version, old.Newest
		s.Revision, s.Created, s.Updated = old.Revision, old.Created, old.Updated
		s.Document, s.SecretHeaders, s.SecretCredentials = old.Document, maps.Clone(old.SecretHeaders), maps.Clone(old.SecretCredentials)
		if stored, err = in.into(op, &s, stored); err != nil {
			return err
		}
		if err := s.checkSameClient(op, &old, &in); err != nil {
			return err
		}
		what, err := differences(old, s)
		if err != nil || len(what) == 0 {
			return err
		}
		spec, err := differences(old.MCPServerSpec, s.MCPServerSpec)
		if err != nil {
			return err
		}
		s.Revision, s.Updated = old.Revision+1, database.Now()
		if err := s.check(op); err != nil {
			return err
		}
		if len(spec) > 0 {
			s.Version++
			s.Newest = s.Version
			if err := d.refs.mcpServer(&s, nil); err != nil {
				return err
			}
		}
		if len(in.Headers)+len(in.Credentials) > 0 {
			sealed, err := d.sealHeaders(op, &s, stored)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(`UPDATE mcp_server SET secret = ? WHERE tenant = ? AND id = ?`, sealed, tenant, id); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`UPDATE mcp_server SET status = ?, version = ?, revision = ?, updated = ? WHERE tenant = ? AND id = ?`,
			s.Status, s.Newest, s.Revision, database.Micros(s.Updated), tenant, id); err != nil {
			return err
		}
		if len(spec) > 0 {
			if err := addMCPVersion(tx, &s, &in); err != nil {
				return err
			}
		}
		return record(tx, tenant, by, "mcp-server.update", "mcp-server/"+id, what)
	})
	if err != nil {
		return MCPServer{}, err
	}
	return s, nil
}

// checkChangedDocument checks a new document, or a stored one that other options read, before the
// server is locked: reading a document takes a while.
func (d *Directory) checkChangedDocument(
	ctx context.Context, op, tenant, id string, change func(s *MCPServer, in *MCPServerInput) error,
) error {
	old, err := d.GetMCPServer(ctx, tenant, id, 0)
	if err != nil {
		return err
	}
	s, err := copied(old)
	if err != nil {
		return err
	}
	var in MCPServerInput
	if err := change(&s, &in); err != nil {
		return err
	}
	s.Tenant, s.ID, s.Life, s.Document = old.Tenant, old.ID, old.Life, old.Document
	s.SecretHeaders, s.SecretCredentials = maps.Clone(old.SecretHeaders), maps.Clone(old.SecretCredentials)
	if _, err := in.into(op, &s, nil); err != nil || s.Type != MCPOpenAPI {
		return err
	}
	document := in.Document
	if document == nil && old.Document != nil && readsAnew(&old, &s) {
		if document, err = d.MCPDocument(ctx, &old); err != nil {
			return err
		}
	}
	if document == nil {
		return nil
	}
	if err := s.check(op); err != nil {
		return err
	}
	return d.refs.mcpServer(&s, document)
}

// readsAnew reports whether a change of a server may make its document unusable.
func readsAnew(old, s *MCPServer) bool {
	return s.URL != old.URL || !slices.Equal(s.Tools, old.Tools) || !maps.EqualFunc(old.Credentials, s.Credentials, APICredential.equal) ||
		!maps.Equal(old.SecretCredentials, s.SecretCredentials)
}

// lockMCPServer locks a server for a change, and returns its newest version and its stored secrets.
func (d *Directory) lockMCPServer(tx *database.Tx, op, tenant, id string, revision int64) (s MCPServer, stored headerSecrets, err error) {
	// Lock in a statement of its own, so that the next one sees the committed state.
	var sealed []byte
	if _, err := tx.Get(`SELECT secret FROM mcp_server WHERE tenant = ? AND id = ?`+tx.ForUpdate(), []any{tenant, id}, &sealed); err != nil {
		return s, nil, err
	}
	if s, err = getMCPServer(tx, op, tenant, id, 0); err != nil {
		return s, nil, err
	}
	if revision != 0 && revision != s.Revision {
		return s, nil, outrun(op)
	}
	stored, err = d.openHeaders(op, &s, sealed)
	if errors.Is(err, errSealed) { // new values can replace those that no key opens
		stored, err = nil, nil
	}
	return s, stored, err
}

// DeleteMCPServer removes a server with its versions and secrets. revision is as in
// [Directory.UpdateTenant]. It returns [event.ErrConflict] with the code MCP_SERVER_IN_USE if the
// newest version of an agent names the server, unless [Force] is given.
func (d *Directory) DeleteMCPServer(ctx context.Context, by By, tenant, id string, revision int64, options ...WriteOption) error {
	const op = "delete MCP server"
	if err := by.may(op, tenant); err != nil {
		return err
	}
	force := optionsOf(options).force
	return d.write(ctx, op, tenant, func(tx *database.Tx) error {
		if err := lockAgents(tx, tenant); err != nil {
			return err
		}
		if _, err := tx.Get(`SELECT revision FROM mcp_server WHERE tenant = ? AND id = ?`+tx.ForUpdate(), []any{tenant, id}, new(int64)); err != nil {
			return err
		}
		old, err := getMCPServer(tx, op, tenant, id, 0)
		if err != nil {
			return err
		}
		if revision != 0 && revision != old.Revision {
			return outrun(op)
		}
		if !force {
			if err := mcpServerUnused(tx, op, tenant, id); err != nil {
				return err
			}
		}
		for _, statement := range []string{
			`DELETE FROM mcp_grant WHERE tenant = ? AND server = ?`,
			`DELETE FROM mcp_document WHERE tenant = ? AND server = ?`, `DELETE FROM mcp_server_version WHERE tenant = ? AND server = ?`,
			`DELETE FROM mcp_server WHERE tenant = ? AND id = ?`,
		} {
			if _, err := tx.Exec(statement, tenant, id); err != nil {
				return err
			}
		}
		if err := forgetRepeats(tx, tenant, "mcp-server/"+id); err != nil {
			return err
		}
		return record(tx, tenant, by, "mcp-server.delete", "mcp-server/"+id, nil)
	})
}

// mcpServerUnused returns an error if the newest version of an agent names the server.
func mcpServerUnused(tx *database.Tx, op, tenant, id string) error {
	var users []string
	err := tx.List(selectAgent+` AND v.version = a.version WHERE a.tenant = ? AND v.doc LIKE '%"mcp_servers":%' ORDER BY a.id`, []any{tenant},
		func(scan func(...any) error) error {
			a, err := scanAgent(scan)
			if err == nil && slices.Contains(a.MCPServers, id) {
				users = append(users, a.ID)
			}
			return err
		})
	if err != nil || len(users) == 0 {
		return err
	}
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "MCP_SERVER_IN_USE", Message: "the MCP server is in use by the agents " + someNames(users),
		Hint: "change these first, or send force=true to leave them without it",
	}
}

// ListMCPServerVersions lists the versions of a server, the newest first. It ignores q.Status and
// q.Sort.
func (d *Directory) ListMCPServerVersions(ctx context.Context, tenant, id string, q Query) ([]MCPServerVersion, string, error) {
	return versions(ctx, d.db, tenant, id, q, versionList[MCPServerVersion]{
		op: "list MCP server versions", none: mcpNotFound,
		exists: func(tx *database.Tx, op string) error { _, err := getMCPServer(tx, op, tenant, id, 0); return err },
		table:  "mcp_server_version", column: "server",
		read: func(version int, created time.Time, doc string) (MCPServerVersion, error) {
			v := MCPServerVersion{Version: version, Created: created}
			return v, decode(doc, &v.MCPServerSpec)
		},
		number: func(v MCPServerVersion) int { return v.Version },
	})
}

// put stores values below keys that begin with a prefix. It returns the new descriptions.
func (stored headerSecrets) put(prefix string, values map[string]secret.Secret, shown map[string]StoredHeader) map[string]StoredHeader {
	if shown == nil {
		shown = map[string]StoredHeader{}
	}
	for name, value := range values {
		if value.Empty() {
			delete(stored, prefix+name)
			delete(shown, name)
			continue
		}
		stored[prefix+name] = value.Reveal()
		shown[name] = StoredHeader{Ends: lastLetters(value), Set: database.Now()}
	}
	if len(shown) == 0 {
		return nil
	}
	return shown
}

// into writes the input's description into a server, and returns the values of its stored secrets.
func (in *MCPServerInput) into(op string, s *MCPServer, stored headerSecrets) (headerSecrets, error) {
	if err := in.check(op); err != nil {
		return nil, err
	}
	if stored = maps.Clone(stored); stored == nil {
		stored = headerSecrets{}
	}
	s.SecretHeaders = stored.put("", in.Headers, s.SecretHeaders)
	s.SecretCredentials = stored.put(ofScheme, in.Credentials, s.SecretCredentials)
	if in.Document != nil {
		sum := sha256.Sum256(in.Document)
		s.Document = &MCPDocument{URL: in.DocumentURL, SHA256: hex.EncodeToString(sum[:]), Bytes: len(in.Document)}
	}
	if s.Type != MCPOpenAPI {
		s.Document = nil
		if in.Document != nil {
			return nil, invalid(op, "only a server of type openapi has a document", "leave it out, or set the type to openapi")
		}
	}
	return stored, nil
}

// secrets returns what makes two requests with one idempotency key different.
func (in *MCPServerInput) secrets() []string {
	values := map[string]string{}
	for name, value := range in.Headers {
		values[name] = value.Reveal()
	}
	for name, value := range in.Credentials {
		values[ofScheme+name] = value.Reveal()
	}
	all, err := json.Marshal(values)
	if err != nil {
		return nil // texts can always be written
	}
	return []string{string(all), string(in.Document)}
}
