package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// The doctor connects to the MCP servers of tenants, with their stored headers, and says which failed
// and why.
func TestDoctorReachesTheServersOfTenants(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	who := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	}
	server.AddTool(&mcp.Tool{Name: "who", InputSchema: json.RawMessage(`{"type":"object"}`)}, who)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "sk-stored-canary-1234" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	dir := servedFolder(t)
	db, err := database.OpenSQLite(filepath.Join(dir, serviceFile))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyset.Open(filepath.Join(dir, secretsFile))
	if err != nil {
		t.Fatal(err)
	}
	people := directory.New(directory.Options{Database: db, Keys: keys})
	stored := directory.MCPServerInput{Headers: map[string]secret.Secret{"X-Key": secret.New("sk-stored-canary-1234")}}
	for _, s := range []struct {
		id, address string
		header      map[string]string
		status      directory.Status
		required    bool
		in          directory.MCPServerInput
	}{
		{id: "good", address: web.URL, in: stored},
		{id: "locked", address: web.URL, required: true},
		{id: "dead", address: "http://127.0.0.1:1/"},
		{id: "inside", address: "http://10.0.0.1/"},
		{id: "token", address: web.URL, header: map[string]string{"Authorization": "Bearer ${crm_token}"}},
		{id: "idle", address: "http://127.0.0.1:1/", status: directory.Inactive},
	} {
		_, err := people.CreateMCPServer(t.Context(), directory.By{Operator: true}, directory.MCPServer{
			Tenant: "acme", ID: s.id, Status: s.status,
			MCPServerSpec: directory.MCPServerSpec{Type: directory.MCPHTTP, URL: s.address, Headers: s.header, Required: s.required},
		}, s.in, "")
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := people.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p, out, errs := testProcess(t, map[string]string{"ACME_KEY": "x"})
	r, code := examine(t, p, out, "--data", dir, "--model", "demo", "--allow-host", "127.0.0.1")
	if code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	found := map[string]finding{}
	for _, f := range r.Findings {
		if rest, ok := strings.CutPrefix(f.Text, "the MCP server "); ok {
			id, _, _ := strings.Cut(rest, " ")
			found[id] = f
		}
	}
	for id, want := range map[string]struct {
		level level
		texts []string
	}{
		"good":   {levelOK, []string{"offers 1 tools"}},
		"locked": {levelWarning, []string{"runs that need it fail"}},
		"dead":   {levelWarning, []string{"cannot be reached", "go on without its tools"}},
		"inside": {levelWarning, []string{"http to"}},
		"token":  {levelNote, []string{"needs the token crm_token"}},
	} {
		f := found[id]
		for _, text := range want.texts {
			if !strings.Contains(f.Text, text) {
				t.Errorf("%s: %q lacks %q", id, f.Text, text)
			}
		}
		if f.Level != want.level || f.Level != levelOK && !strings.Contains(f.Next, "mcp-server test "+id+" --tenant acme") {
			t.Errorf("%s: %+v", id, f)
		}
	}
	if _, ok := found["idle"]; ok {
		t.Error("an inactive server was asked")
	}
	if strings.Contains(out.String()+errs.String(), "canary") {
		t.Error("a stored header is shown")
	}
}
