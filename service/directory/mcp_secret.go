package directory

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// headerSecrets are the values of a server's secret headers and, below keys that are no names of
// headers, of its secret credentials. They are encrypted together, for one place: tenant, server,
// column and life.
type headerSecrets map[string]string

// ofScheme begins the keys of credentials. The name of a header has no colon.
const ofScheme = "scheme:"

// errSealed is the cause of an error about values that cannot be decrypted.
var errSealed = errors.New("no key opens the stored secrets")

func (d *Directory) sealHeaders(op string, s *MCPServer, values headerSecrets) ([]byte, error) {
	if len(values) == 0 {
		return nil, nil
	}
	if d.keys == nil {
		return nil, noKeyset(op)
	}
	plain, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	sealed, err := d.keys.Seal(plain, mcpPlace(s.Tenant, s.ID, s.Life))
	if err != nil {
		return nil, &event.Error{Op: op, Kind: event.ErrInternal, Message: "the secrets could not be encrypted", Err: err}
	}
	return sealed, nil
}

func (d *Directory) openHeaders(op string, s *MCPServer, sealed []byte) (values headerSecrets, err error) {
	if len(sealed) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	if d.keys == nil {
		return nil, noKeyset(op)
	}
	plain, err := d.keys.Open(sealed, mcpPlace(s.Tenant, s.ID, s.Life))
	if err == nil {
		err = json.Unmarshal(plain, &values)
	}
	if err != nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "the stored secrets of the MCP server " + s.ID + " cannot be decrypted",
			Hint: "set them again",
			Err:  errors.Join(errSealed, err),
		}
	}
	return values, nil
}

// ErrMCPServerMoved is the cause of an error if a server was changed or removed after the caller
// looked it up.
var ErrMCPServerMoved = errors.New("the MCP server has changed")

func mcpMoved(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "MCP_SERVER_CHANGED", Message: "the MCP server has just been changed",
		Hint: "try again", Err: ErrMCPServerMoved,
	}
}

// MCPSecrets returns the stored secrets of a server. It returns an error with the cause
// [ErrMCPServerMoved] if the stored ones belong to another life or version.
func (d *Directory) MCPSecrets(ctx context.Context, s *MCPServer) (out MCPSecrets, err error) {
	const op = "MCP server secrets"
	if len(s.SecretHeaders)+len(s.SecretCredentials) == 0 {
		return out, nil
	}
	var sealed []byte
	err = d.db.Read(ctx, op, s.Tenant, func(tx *database.Tx) error {
		there, err := tx.Get(`SELECT secret FROM mcp_server WHERE tenant = ? AND id = ? AND life = ? AND version = ? AND secret IS NOT NULL`,
			[]any{s.Tenant, s.ID, s.Life, s.Version}, &sealed)
		if err == nil && !there {
			return mcpMoved(op)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	values, err := d.openHeaders(op, s, sealed)
	if err != nil {
		return out, err
	}
	out.Headers, out.Credentials = make(map[string]secret.Secret, len(s.SecretHeaders)), make(map[string]secret.Secret, len(s.SecretCredentials))
	for name, value := range values {
		if scheme, ok := strings.CutPrefix(name, ofScheme); ok {
			out.Credentials[scheme] = secret.New(value)
			continue
		}
		out.Headers[name] = secret.New(value)
	}
	return out, nil
}

// MCPDocument returns the document of an openapi server. It returns an error with the cause
// [ErrMCPServerMoved] if another one is stored now.
func (d *Directory) MCPDocument(ctx context.Context, s *MCPServer) ([]byte, error) {
	const op = "MCP server document"
	if s.Document == nil {
		return nil, nil
	}
	var packed []byte
	err := d.db.Read(ctx, op, s.Tenant, func(tx *database.Tx) error {
		there, err := tx.Get(`SELECT d.data FROM mcp_document d JOIN mcp_server s ON s.tenant = d.tenant AND s.id = d.server
			WHERE d.tenant = ? AND d.server = ? AND s.life = ? AND d.digest = ?`, []any{s.Tenant, s.ID, s.Life, s.Document.SHA256}, &packed)
		if err == nil && !there {
			return mcpMoved(op)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return unpack(packed)
}

func pack(document []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(document); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, database.Damaged("read", err)
	}
	document, err := io.ReadAll(io.LimitReader(z, longestDocument+1))
	if err != nil || len(document) > longestDocument {
		return nil, database.Damaged("read", errors.Join(err, errors.New("the document is cut or too long")))
	}
	return document, nil
}
