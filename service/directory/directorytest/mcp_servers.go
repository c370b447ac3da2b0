package directorytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

func mcpServer(id string) directory.MCPServer {
	return directory.MCPServer{Tenant: "acme", ID: id, MCPServerSpec: directory.MCPServerSpec{
		Type: directory.MCPHTTP, URL: "https://mcp.example/mcp", Headers: map[string]string{"Authorization": "Bearer ${token}"},
	}}
}

func api() directory.MCPServer {
	return directory.MCPServer{Tenant: "acme", ID: "shop", MCPServerSpec: directory.MCPServerSpec{
		Type: directory.MCPOpenAPI,
		URL:  "https://api.example/v1",
	}}
}

// A change of the spec is a version, a change of the status is not.
func mcpServers(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	none := directory.MCPServerInput{}
	made := must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), mcpServer("crm"), none, ""))
	if made.Version != 1 || made.Newest != 1 || made.Revision != 1 || made.Status != directory.Active || made.Life == "" {
		t.Errorf("made as %+v", made)
	}
	if diff := cmp.Diff(made, must[directory.MCPServer](t)(d.GetMCPServer(ctx, "acme", "crm", 0))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]directory.MCPServer{made}, must[[]directory.MCPServer](t)(d.MCPServers(ctx, "acme"))); diff != "" {
		t.Error(diff)
	}
	_, err := d.CreateMCPServer(ctx, of("acme"), mcpServer("crm"), none, "")
	want(t, "made twice", err, event.ErrConflict, "MCP_SERVER_EXISTS")
	change := func(revision int64, change func(s *directory.MCPServer, in *directory.MCPServerInput) error) (directory.MCPServer, error) {
		return d.UpdateMCPServer(ctx, of("acme"), "acme", "crm", revision, change)
	}
	idle := must[directory.MCPServer](t)(change(1, func(s *directory.MCPServer, _ *directory.MCPServerInput) error {
		s.Status = directory.Inactive
		return nil
	}))
	if idle.Version != 1 || idle.Revision != 2 {
		t.Errorf("switched off as %+v", idle)
	}
	_, err = change(1, func(s *directory.MCPServer, _ *directory.MCPServerInput) error { s.Seconds = 1; return nil })
	want(t, "changed too late", err, event.ErrConflict, "REVISION_CONFLICT")
	next := must[directory.MCPServer](t)(change(2, func(s *directory.MCPServer, _ *directory.MCPServerInput) error {
		s.Status, s.Tools, s.Required = directory.Active, []string{"get_*"}, true
		return nil
	}))
	if next.Version != 2 || next.Newest != 2 || next.Revision != 3 {
		t.Errorf("changed to %+v", next)
	}
	same := must[directory.MCPServer](t)(change(0, func(*directory.MCPServer, *directory.MCPServerInput) error { return nil }))
	if diff := cmp.Diff(next, same); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]directory.MCPServer{next}, must[[]directory.MCPServer](t)(d.MCPServers(ctx, "acme"))); diff != "" {
		t.Errorf("an old list is remembered: %s", diff)
	}
	old := must[directory.MCPServer](t)(d.GetMCPServer(ctx, "acme", "crm", 1))
	if old.Tools != nil || old.Version != 1 || old.Newest != 2 {
		t.Errorf("the first version is %+v", old)
	}
	_, err = d.GetMCPServer(ctx, "acme", "crm", 3)
	want(t, "a version that is not there", err, event.ErrNotFound, "MCP_SERVER_NOT_FOUND")
	list, cursor, err := d.ListMCPServerVersions(ctx, "acme", "crm", directory.Query{Limit: 1})
	if err != nil || len(list) != 1 || list[0].Version != 2 || cursor == "" {
		t.Fatalf("%+v %q %v", list, cursor, err)
	}
	list, cursor, err = d.ListMCPServerVersions(ctx, "acme", "crm", directory.Query{Limit: 1, Cursor: cursor})
	if err != nil || len(list) != 1 || list[0].Version != 1 || cursor != "" {
		t.Errorf("%+v %q %v", list, cursor, err)
	}
	_, _, err = d.ListMCPServerVersions(ctx, "acme", "nothing", directory.Query{})
	want(t, "versions of nothing", err, event.ErrNotFound, "MCP_SERVER_NOT_FOUND")
	must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), mcpServer("billing"), none, ""))
	all, _, err := d.ListMCPServers(ctx, "acme", directory.Query{Status: directory.Active})
	if err != nil || len(all) != 2 || all[0].ID != "billing" {
		t.Errorf("listed as %+v: %v", all, err)
	}

	want(t, "removed too late", d.DeleteMCPServer(ctx, of("acme"), "acme", "crm", 1), event.ErrConflict, "REVISION_CONFLICT")
	done(t, d.DeleteMCPServer(ctx, of("acme"), "acme", "crm", 3))
	want(t, "removed twice", d.DeleteMCPServer(ctx, of("acme"), "acme", "crm", 0), event.ErrNotFound, "MCP_SERVER_NOT_FOUND")
	again := must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), mcpServer("crm"), none, ""))
	if again.Life == made.Life || again.Version != 1 {
		t.Errorf("made again as %+v", again)
	}
	entries, _, err := d.Audit(ctx, "acme", directory.AuditQuery{Object: "mcp-server/crm"})
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]string{"mcp-server.create", "mcp-server.delete", "mcp-server.update", "mcp-server.update", "mcp-server.create"},
		actions); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// Values of secret headers and documents are stored with the newest version, and never read back with it.
func mcpStored(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	document := []byte(`{"openapi":"3.1.0","info":{"title":"` + strings.Repeat("x", 4000) + `"}}`)
	in := directory.MCPServerInput{
		Document: document, DocumentURL: "https://api.example/openapi.json",
		Headers: map[string]secret.Secret{"X-Api-Key": secret.New("sk-canary-of-acme-1234"), "X-Other": secret.New("short")},
	}
	made := must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), api(), in, "once"))
	if made.SecretHeaders["X-Api-Key"].Ends != "1234" || made.SecretHeaders["X-Other"].Ends != "…" || made.Document.Bytes != len(document) ||
		len(made.Document.SHA256) != 64 || made.Document.URL != in.DocumentURL {
		t.Errorf("made as %+v", made)
	}
	if shown := fmt.Sprintf("%+v %s", made, jsonOf(t, made)); strings.Contains(shown, "canary") {
		t.Errorf("it is shown: %s", shown)
	}
	must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), api(), in, "once"))
	other := in
	other.Headers = map[string]secret.Secret{"X-Api-Key": secret.New("sk-canary-of-acme-9999")}
	_, err := d.CreateMCPServer(ctx, of("acme"), api(), other, "once")
	want(t, "another secret", err, event.ErrConflict, "IDEMPOTENCY_MISMATCH")
	holds := func(s directory.MCPServer, headers map[string]string) {
		t.Helper()
		got := map[string]string{}
		for name, v := range must[directory.MCPSecrets](t)(d.MCPSecrets(ctx, &s)).Headers {
			got[name] = v.Reveal()
		}
		if diff := cmp.Diff(headers, got); diff != "" {
			t.Error(diff)
		}
	}
	holds(made, map[string]string{"X-Api-Key": "sk-canary-of-acme-1234", "X-Other": "short"})
	if got := must[[]byte](t)(d.MCPDocument(ctx, &made)); !bytes.Equal(got, document) {
		t.Errorf("the document has %d bytes", len(got))
	}
	next := must[directory.MCPServer](t)(d.UpdateMCPServer(ctx, of("acme"), "acme", "shop", 0, func(_ *directory.MCPServer,
		in *directory.MCPServerInput,
	) error {
		in.Headers = map[string]secret.Secret{"X-Other": {}, "X-Third": secret.New("third-value-of-acme")}
		return nil
	}))
	if next.Version != 2 || len(next.SecretHeaders) != 2 {
		t.Errorf("changed to %+v", next)
	}
	holds(next, map[string]string{"X-Api-Key": "sk-canary-of-acme-1234", "X-Third": "third-value-of-acme"})
	if _, err := d.MCPSecrets(ctx, &made); !errors.Is(err, directory.ErrMCPServerMoved) {
		t.Errorf("the headers of an old version: %v", err)
	}
	if got := must[[]byte](t)(d.MCPDocument(ctx, &next)); !bytes.Equal(got, document) {
		t.Errorf("the document has %d bytes after a change of the headers", len(got))
	}
	last := must[directory.MCPServer](t)(d.UpdateMCPServer(ctx, of("acme"), "acme", "shop", 0, func(_ *directory.MCPServer,
		in *directory.MCPServerInput,
	) error {
		in.Document = []byte(`{}`)
		return nil
	}))
	if got := must[[]byte](t)(d.MCPDocument(ctx, &last)); string(got) != `{}` || last.Document.URL != "" {
		t.Errorf("the document is %s of %q", got, last.Document.URL)
	}
	if _, err := d.MCPDocument(ctx, &next); !errors.Is(err, directory.ErrMCPServerMoved) {
		t.Errorf("an old document: %v", err)
	}
	plain := must[directory.MCPServer](t)(d.UpdateMCPServer(ctx, of("acme"), "acme", "shop", 0, func(s *directory.MCPServer,
		_ *directory.MCPServerInput,
	) error {
		s.Type = directory.MCPHTTP
		return nil
	}))
	if plain.Document != nil || len(plain.SecretHeaders) != 2 {
		t.Errorf("of another type it is %+v", plain)
	}
	audited, _, err := d.Audit(ctx, "acme", directory.AuditQuery{})
	done(t, err)
	if shown := jsonOf(t, audited); strings.Contains(shown, "canary") || strings.Contains(shown, "third-value") {
		t.Errorf("the audit tells a secret: %s", shown)
	}
}

// Values of secret credentials are kept beside those of headers, one by one.
func mcpCredentials(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	s := api()
	s.Credentials = map[string]directory.APICredential{"basic": {User: "${who}"}, "bearer": {Value: "${token}"}}
	in := directory.MCPServerInput{
		Document: []byte("{}"), Headers: map[string]secret.Secret{"basic": secret.New("a header of this name")},
		Credentials: map[string]secret.Secret{"basic": secret.New("sk-canary-of-acme-1234"), "key": secret.New("sk-canary-of-acme-5678")},
	}
	made := must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), s, in, "once"))
	if made.SecretCredentials["basic"].Ends != "1234" || len(made.SecretCredentials) != 2 || len(made.SecretHeaders) != 1 {
		t.Errorf("made as %+v", made)
	}
	if shown := fmt.Sprintf("%+v %s", made, jsonOf(t, made)); strings.Contains(shown, "canary") {
		t.Errorf("it is shown: %s", shown)
	}
	other := in
	other.Credentials = map[string]secret.Secret{"basic": secret.New("sk-canary-of-acme-9999"), "key": in.Credentials["key"]}
	_, err := d.CreateMCPServer(ctx, of("acme"), s, other, "once")
	want(t, "another secret", err, event.ErrConflict, "IDEMPOTENCY_MISMATCH")
	holds := func(s directory.MCPServer, want string) {
		t.Helper()
		stored := must[directory.MCPSecrets](t)(d.MCPSecrets(ctx, &s))
		got := fmt.Sprint(stored.Headers["basic"].Reveal(), " ", len(stored.Headers), " ", stored.Credentials["basic"].Reveal(), " ",
			stored.Credentials["key"].Reveal())
		if got != want {
			t.Errorf("stored as %q, want %q", got, want)
		}
	}
	holds(made, "a header of this name 1 sk-canary-of-acme-1234 sk-canary-of-acme-5678")
	change := func(change func(s *directory.MCPServer, in *directory.MCPServerInput)) (directory.MCPServer, error) {
		return d.UpdateMCPServer(ctx, of("acme"), "acme", "shop", 0, func(s *directory.MCPServer, in *directory.MCPServerInput) error {
			change(s, in)
			return nil
		})
	}
	next := must[directory.MCPServer](t)(change(func(_ *directory.MCPServer, in *directory.MCPServerInput) {
		in.Credentials = map[string]secret.Secret{"key": {}, "basic": secret.New("sk-canary-of-acme-4321")}
	}))
	if next.Version != 2 || len(next.SecretCredentials) != 1 {
		t.Errorf("changed to %+v", next)
	}
	holds(next, "a header of this name 1 sk-canary-of-acme-4321 ")
	_, err = change(func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Type = directory.MCPHTTP })
	says(t, "credentials of another type", err, event.ErrInvalid, "", "only a server of type openapi has credentials")
	_, err = change(func(_ *directory.MCPServer, in *directory.MCPServerInput) {
		in.Credentials = map[string]secret.Secret{"basic": {}}
	})
	says(t, "a user without a password", err, event.ErrInvalid, "", `the credential "basic" has no value`)
	holds(must[directory.MCPServer](t)(d.GetMCPServer(ctx, "acme", "shop", 0)), "a header of this name 1 sk-canary-of-acme-4321 ")
	_, err = next.Resolve(map[string]secret.Secret{"token": secret.New("x")})
	want(t, "a missing token", err, event.ErrInvalid, directory.TokenMissing)
	r, err := next.Resolve(map[string]secret.Secret{"token": secret.New("${who}"), "who": secret.New("ann")})
	if err != nil || r.Run.Credentials[directory.CredentialPart{Scheme: "bearer", Field: directory.CredentialValue}].Reveal() != "${who}" ||
		r.Run.Credentials[directory.CredentialPart{Scheme: "basic", Field: directory.CredentialUser}].Reveal() != "ann" {
		t.Errorf("filled with %v: %v", r.Run.Credentials, err)
	}
	audited, _, err := d.Audit(ctx, "acme", directory.AuditQuery{})
	done(t, err)
	if shown := jsonOf(t, audited); strings.Contains(shown, "canary") {
		t.Errorf("the audit tells a secret: %s", shown)
	}
}

// The client secret of a server with OAuth is stored encrypted, shown to nobody, and sent to no other client or authorization server.
func mcpClientSecret(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	s := mcpServer("docs")
	s.Headers, s.OAuth = nil, &directory.MCPOAuth{ClientID: "ours", Issuer: "https://login.example"}
	const first = "canary-client-secret-1234"
	in := directory.MCPServerInput{Credentials: map[string]secret.Secret{directory.OAuthClientSecret: secret.New(first)}}
	made := must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), s, in, ""))
	shown := fmt.Sprintf("%+v %s", made, jsonOf(t, made))
	if strings.Contains(shown, "canary") || made.SecretCredentials["client_secret"].Ends != "1234" {
		t.Errorf("it is shown: %s", shown)
	}
	change := func(change func(s *directory.MCPServer, in *directory.MCPServerInput)) (directory.MCPServer, error) {
		return d.UpdateMCPServer(ctx, of("acme"), "acme", "docs", 0, func(s *directory.MCPServer, in *directory.MCPServerInput) error {
			change(s, in)
			return nil
		})
	}
	for name, c := range map[string]struct {
		change func(s *directory.MCPServer, in *directory.MCPServerInput)
		says   string
	}{
		"another issuer": {
			func(s *directory.MCPServer, _ *directory.MCPServerInput) {
				s.OAuth = &directory.MCPOAuth{ClientID: "ours", Issuer: "https://evil.example"}
			}, "belongs to another client_id or issuer",
		},
		"another client": {
			func(s *directory.MCPServer, _ *directory.MCPServerInput) {
				s.OAuth = &directory.MCPOAuth{ClientID: "theirs", Issuer: "https://login.example"}
			}, "belongs to another client_id or issuer",
		},
		"no issuer": {
			func(s *directory.MCPServer, in *directory.MCPServerInput) {
				s.OAuth, in.Credentials = &directory.MCPOAuth{ClientID: "ours"}, map[string]secret.Secret{"client_secret": secret.New("x")}
			}, "without client_id or issuer",
		},
		"no oauth": {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.OAuth = nil }, "has no oauth"},
		"another name": {func(_ *directory.MCPServer, in *directory.MCPServerInput) {
			in.Credentials = map[string]secret.Secret{"key": secret.New("x")}
		}, "only a server of type openapi"},
		"a line break": {func(_ *directory.MCPServer, in *directory.MCPServerInput) {
			in.Credentials = map[string]secret.Secret{"client_secret": secret.New("a\nb")}
		}, "cannot be sent"},
		"a very long one": {func(_ *directory.MCPServer, in *directory.MCPServerInput) {
			in.Credentials = map[string]secret.Secret{"client_secret": secret.New(strings.Repeat("x", 9<<10))}
		}, "cannot be sent"},
	} {
		_, err := change(c.change)
		says(t, name, err, event.ErrInvalid, "", c.says)
	}
	next := must[directory.MCPServer](t)(change(func(s *directory.MCPServer, in *directory.MCPServerInput) {
		s.OAuth = &directory.MCPOAuth{ClientID: "theirs", Issuer: "https://second.example"}
		in.Credentials = map[string]secret.Secret{"client_secret": secret.New("canary-client-secret-5678")}
	}))
	if got := must[directory.MCPSecrets](t)(d.MCPSecrets(ctx, &next)).Credentials["client_secret"].Reveal(); got != "canary-client-secret-5678" {
		t.Errorf("stored as %q", got)
	}
	last := must[directory.MCPServer](t)(change(func(_ *directory.MCPServer, in *directory.MCPServerInput) {
		in.Credentials = map[string]secret.Secret{"client_secret": {}}
	}))
	if len(last.SecretCredentials) != 0 {
		t.Errorf("it is there still: %+v", last)
	}
	audited, _, err := d.Audit(ctx, "acme", directory.AuditQuery{})
	done(t, err)
	if shown := jsonOf(t, audited); strings.Contains(shown, "canary") {
		t.Errorf("the audit tells a secret: %s", shown)
	}
}

// What cannot be meant is refused when it is written.
func mcpRefused(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	for name, c := range map[string]struct {
		change func(s *directory.MCPServer, in *directory.MCPServerInput)
		text   string
	}{
		"no type":            {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Type = "" }, "type"},
		"no url":             {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.URL = "" }, "no url"},
		"a file":             {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.URL = "file:///etc/passwd" }, "url"},
		"a user":             {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.URL = "https://me:pass@mcp.example/" }, "url"},
		"a token in the url": {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.URL = "https://mcp.example/${token}" }, "url"},
		"a line break":       {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["X"] = "a\r\nB: c" }, "control"},
		"no end":             {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["X"] = "${token" }, "${"},
		"no name":            {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["X"] = "${a b}" }, "${"},
		"nested":             {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["X"] = "${a${b}}" }, "${"},
		"the host":           {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["host"] = "evil.example" }, "host"},
		"the session":        {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["Mcp-Session-Id"] = "1" }, "Mcp-Session-Id"},
		"the proxy": {func(s *directory.MCPServer, _ *directory.MCPServerInput) {
			s.Headers["Proxy-Authorization"] = "${token}"
		}, "Proxy"},
		"a name with a break": {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["X\nY"] = "x" }, "header"},
		"a readable secret": {func(s *directory.MCPServer, _ *directory.MCPServerInput) {
			s.Headers["X-Api-Key"] = "sk-live-key-of-acme"
		}, "secret_headers"},
		"twice": {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Headers["authorization"] = "${token}" }, "twice"},
		"a secret with a break": {func(_ *directory.MCPServer, in *directory.MCPServerInput) {
			in.Headers = map[string]secret.Secret{"X": secret.New("a\nb")}
		}, "sent"},
		"a document":  {func(_ *directory.MCPServer, in *directory.MCPServerInput) { in.Document = []byte("{}") }, "document"},
		"no document": {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Type = directory.MCPOpenAPI }, "document"},
		"no program": {func(s *directory.MCPServer, _ *directory.MCPServerInput) {
			s.Type, s.URL, s.Headers = directory.MCPStdio, "", nil
		}, "program"},
		"a program's url": {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Type, s.Program = directory.MCPStdio, "x" }, "url"},
		"a pattern":       {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Tools = []string{"[a"} }, "allowed_tools"},
		"an effect": {func(s *directory.MCPServer, _ *directory.MCPServerInput) {
			s.Overrides = []directory.ToolOverride{{Tool: "x", Effect: "none"}}
		}, "effect"},
		"a permission": {func(s *directory.MCPServer, _ *directory.MCPServerInput) {
			s.Overrides = []directory.ToolOverride{{Tool: "x", Permission: "perhaps"}}
		}, "permission"},
		"an override of nothing": {func(s *directory.MCPServer, _ *directory.MCPServerInput) {
			s.Overrides = []directory.ToolOverride{{Tool: "x"}}
		}, "changes nothing"},
		"a negative time": {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Seconds = -1 }, "timeout_seconds"},
		"a status":        {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.Status = "perhaps" }, "status"},
		"an id":           {func(s *directory.MCPServer, _ *directory.MCPServerInput) { s.ID = "A_b" }, "id"},
	} {
		s := mcpServer("crm")
		var in directory.MCPServerInput
		c.change(&s, &in)
		_, err := d.CreateMCPServer(ctx, of("acme"), s, in, "")
		says(t, name, err, event.ErrInvalid, "", c.text)
		for _, value := range []string{"sk-live", "passwd"} {
			if err != nil && strings.Contains(err.Error(), value) {
				t.Errorf("%s: the error repeats it: %v", name, err)
			}
		}
	}
	_, err := d.CreateMCPServer(ctx, of("acme"), api(), directory.MCPServerInput{Document: bytes.Repeat([]byte("x"), 20<<20)}, "")
	want(t, "a document of 20 MB", err, event.ErrTooLarge, "")
	for i := range directory.MostMCPServers {
		must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), mcpServer(fmt.Sprint("s", i)), directory.MCPServerInput{}, ""))
	}
	_, err = d.CreateMCPServer(ctx, of("acme"), mcpServer("more"), directory.MCPServerInput{}, "")
	want(t, "one too many", err, event.ErrQuota, "QUOTA_MCP_SERVERS")
	if list := must[[]directory.MCPServer](t)(d.MCPServers(ctx, "acme")); len(list) != directory.MostMCPServers {
		t.Errorf("there are %d", len(list))
	}
}

// A server of another tenant is one that is not there.
func mcpIsolation(t *testing.T, h Harness) {
	d, ctx := h.Directory, t.Context()
	tenant(t, d, "acme")
	tenant(t, d, "evil")
	evil := of("evil")
	stays := func(*directory.MCPServer, *directory.MCPServerInput) error { return nil }
	s := must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), api(), directory.MCPServerInput{
		Document: []byte("{}"), Headers: map[string]secret.Secret{"X-Api-Key": secret.New("sk-canary-of-acme")},
	}, ""))
	for name, err := range map[string]error{
		"create": second(d.CreateMCPServer(ctx, evil, mcpServer("x"), directory.MCPServerInput{}, "")),
		"update": second(d.UpdateMCPServer(ctx, evil, "acme", "shop", 0, stays)), "delete": d.DeleteMCPServer(ctx, evil, "acme", "shop", 0),
	} {
		want(t, name, err, event.ErrNotFound, "TENANT_NOT_FOUND")
	}
	for name, err := range map[string]error{
		"get": second(d.GetMCPServer(ctx, "evil", "shop", 0)), "update": second(d.UpdateMCPServer(ctx, evil, "evil", "shop", 0, stays)),
		"delete": d.DeleteMCPServer(ctx, evil, "evil", "shop", 0), "versions": third(d.ListMCPServerVersions(ctx, "evil", "shop", directory.Query{})),
	} {
		want(t, name, err, event.ErrNotFound, "MCP_SERVER_NOT_FOUND")
	}
	moved := s
	moved.Tenant = "evil"
	_, err := d.MCPSecrets(ctx, &moved)
	want(t, "another tenant's headers", err, event.ErrConflict, "MCP_SERVER_CHANGED")
	_, err = d.MCPDocument(ctx, &moved)
	want(t, "another tenant's document", err, event.ErrConflict, "MCP_SERVER_CHANGED")
	if list := must[[]directory.MCPServer](t)(d.MCPServers(ctx, "evil")); len(list) != 0 {
		t.Errorf("evil has %+v", list)
	}
	// Agents name servers of their own tenant only, and one that is named stays.
	_, err = d.CreateAgent(ctx, evil, directory.Agent{Tenant: "evil", ID: "helper", AgentSpec: directory.AgentSpec{MCPServers: []string{"shop"}}}, "")
	says(t, "an agent with another tenant's server", err, event.ErrInvalid, "REFERENCE_UNKNOWN", "mcp_servers[0]")
	must[directory.Agent](t)(d.CreateAgent(ctx, of("acme"), directory.Agent{
		Tenant: "acme", ID: "helper", AgentSpec: directory.AgentSpec{MCPServers: []string{"shop"}},
	}, ""))
	want(t, "one in use", d.DeleteMCPServer(ctx, of("acme"), "acme", "shop", 0), event.ErrConflict, "MCP_SERVER_IN_USE")
	done(t, d.DeleteMCPServer(ctx, of("acme"), "acme", "shop", 0, directory.Force()))
	must[directory.MCPServer](t)(d.CreateMCPServer(ctx, of("acme"), mcpServer("crm"), directory.MCPServerInput{}, ""))
	idle(t, d, "acme")
	if erased := must[directory.Erased](t)(d.EraseTenant(ctx, Operator(), "acme")); erased.MCPServers != 1 {
		t.Errorf("erased %+v", erased)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	return string(must[[]byte](t)(json.Marshal(v)))
}
