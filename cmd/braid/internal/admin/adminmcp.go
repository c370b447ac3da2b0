package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// mcpFields returns an MCP server's fields from file and flags.
func (a *admin) mcpFields() (client.Patch, error) {
	patch, err := a.fields(map[string]string{
		"name": "name", "type": "type", "url": "url", "program": "program", "document-url": "document_url",
	})
	if err != nil {
		return nil, err
	}
	if text, given := a.in.Flags["tools"]; given {
		patch["allowed_tools"] = conf.Words(text)
		if len(conf.Words(text)) == 0 {
			patch["allowed_tools"] = nil
		}
	}
	if text, given := a.in.Flags["timeout"]; given {
		seconds := 0
		if err := conf.ParseCount(&seconds, text); err != nil {
			return nil, term.Invalid("write seconds, such as 30; 0 is the server's limit", "--timeout: %q %s", term.Fit(text, 40), err)
		}
		patch["timeout_seconds"] = seconds
	}
	if text, given := a.in.Flags["required"]; given {
		required, err := strconv.ParseBool(text)
		if err != nil {
			return nil, term.Invalid("write true or false", "--required: %q is neither", term.Fit(text, 40))
		}
		patch["required"] = required
	}
	if err := a.mcpHeaders(patch); err != nil {
		return nil, err
	}
	if err := a.mcpCredentials(patch); err != nil {
		return nil, err
	}
	if err := a.mcpOAuth(patch); err != nil {
		return nil, err
	}
	if file, given := a.in.Flags["document"]; given {
		if file == "-" && a.in.Flags["file"] == "-" {
			return nil, term.Invalid("name a file for one of them", "--file and --document both read standard input")
		}
		raw, err := a.p.ReadInput("--document", file)
		if err != nil {
			return nil, err
		}
		patch["document"] = string(raw)
	}
	return patch, nil
}

// mcpHeaders copies --header and --secret-header-file into the fields.
func (a *admin) mcpHeaders(patch client.Patch) error {
	if text, given := a.in.Flags["header"]; given {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return term.Invalid("write it as \"Authorization: Bearer ${crm_token}\"", "--header: there is no name and value")
		}
		// A patch changes this header and leaves the others, whatever their names' case.
		patch["headers_template"] = map[string]any{http.CanonicalHeaderKey(name): strings.TrimSpace(value)}
		if strings.TrimSpace(value) == "" {
			patch["headers_template"] = map[string]any{http.CanonicalHeaderKey(name): nil}
		}
	}
	name, value, err := a.secretFile("secret-header-file", "X-Api-Key=FILE")
	if name != "" {
		patch["secret_headers"] = map[string]any{http.CanonicalHeaderKey(name): value}
	}
	return err
}

// mcpCredentials copies --credential and --secret-credential-file into the fields.
func (a *admin) mcpCredentials(patch client.Patch) error {
	if text, given := a.in.Flags["credential"]; given {
		scheme, value, ok := strings.Cut(text, "=")
		if scheme = strings.TrimSpace(scheme); !ok || scheme == "" {
			return term.Invalid("write it as 'apiKey=${shop_token}'", "--credential: there is no security scheme and value")
		}
		patch["credentials"] = map[string]any{scheme: map[string]any{"value_template": value}}
		if value == "" {
			patch["credentials"] = map[string]any{scheme: nil}
		}
	}
	scheme, value, err := a.secretFile("secret-credential-file", "apiKey=FILE")
	if scheme != "" {
		patch["secret_credentials"] = map[string]any{scheme: value}
	}
	return err
}

// mcpOAuth copies the flags of --oauth into the fields.
func (a *admin) mcpOAuth(patch client.Patch) error {
	oauth, given := map[string]any{}, false
	for flag, field := range map[string]string{"oauth-client-id": "client_id", "oauth-issuer": "issuer"} {
		if text, there := a.in.Flags[flag]; there {
			given, oauth[field] = true, text
		}
	}
	if text, there := a.in.Flags["oauth-scopes"]; there {
		given, oauth["scopes"] = true, conf.Words(text)
	}
	if text, there := a.in.Flags["oauth"]; there {
		on, err := strconv.ParseBool(text)
		switch {
		case err != nil:
			return term.Invalid("write true or false", "--oauth: %q is neither", term.Fit(text, 40))
		case !on && given:
			return term.Invalid("leave one of them out", "--oauth=false and another flag of --oauth exclude each other")
		case !on:
			patch["oauth"] = nil
			return nil
		}
		given = true
	}
	if file, there := a.in.Flags["oauth-client-secret-file"]; there {
		raw, err := a.p.ReadInput("--oauth-client-secret-file", file)
		if err != nil {
			return err
		}
		value := strings.TrimSpace(string(raw))
		if value == "" {
			return term.Invalid("put the secret into it", "--oauth-client-secret-file: the file is empty")
		}
		patch["secret_credentials"] = map[string]any{"client_secret": value}
	}
	if given {
		patch["oauth"] = oauth
	}
	return nil
}

// secretFile reads a flag of the form NAME=FILE. It returns no name if the flag is not given.
func (a *admin) secretFile(flag, example string) (name, value string, err error) {
	text, given := a.in.Flags[flag]
	if !given {
		return "", "", nil
	}
	name, file, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", term.Invalid("write it as "+example, "--%s: there is no name and file", flag)
	}
	raw, err := a.p.ReadInput("--"+flag, file)
	if err != nil {
		return "", "", err
	}
	if value = strings.TrimSpace(string(raw)); value == "" {
		return "", "", term.Invalid("put the value into it", "--%s: the file is empty", flag)
	}
	return name, value, nil
}

func (a *admin) createMCPServer(ctx context.Context, id string) error {
	patch, err := a.mcpFields()
	if err != nil {
		return err
	}
	hidden, err := into[struct {
		SecretHeaders     map[string]string `json:"secret_headers"`
		SecretCredentials map[string]string `json:"secret_credentials"`
	}](client.Patch{"secret_headers": patch["secret_headers"], "secret_credentials": patch["secret_credentials"]})
	if err != nil {
		return err
	}
	delete(patch, "secret_headers")
	delete(patch, "secret_credentials")
	m, err := into[client.NewMCPServer](patch)
	if err != nil {
		return err
	}
	m.ID, m.SecretHeaders, m.SecretCredentials = id, asSecrets(hidden.SecretHeaders), asSecrets(hidden.SecretCredentials)
	made, err := a.client.CreateMCPServer(ctx, a.tenant, m)
	if err != nil {
		return err
	}
	return a.showOne(made)
}

func asSecrets(from map[string]string) map[string]secret.Secret {
	to := make(map[string]secret.Secret, len(from))
	for name, value := range from {
		to[name] = secret.New(value)
	}
	return to
}

func (a *admin) listMCPServers(ctx context.Context, _ string) error {
	return showList(a, a.client.MCPServers(ctx, a.tenant, a.listed()), []string{"ID", "STATUS", "VERSION", "TYPE", "WHERE", "TOKENS", "NAME"},
		func(m *client.MCPServer) []string {
			where := m.URL
			if m.Program != "" {
				where = m.Program
			}
			return []string{m.ID, m.Status, strconv.Itoa(m.Version), m.Type, orDash(where), orDash(strings.Join(tokensOf(m), ",")), m.Name}
		})
}

// tokensOf returns the names of the tokens that a server's headers and credentials need.
func tokensOf(m *client.MCPServer) (names []string) {
	var templates []string
	for _, header := range slices.Sorted(maps.Keys(m.Headers)) {
		templates = append(templates, m.Headers[header])
	}
	for _, scheme := range slices.Sorted(maps.Keys(m.Credentials)) {
		c := m.Credentials[scheme]
		templates = append(templates, c.Value, c.User, c.ClientID)
	}
	for _, rest := range templates {
		for {
			_, after, found := strings.Cut(rest, "${")
			name, next, closed := strings.Cut(after, "}")
			if !found || !closed {
				break
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			rest = next
		}
	}
	return names
}

func (a *admin) showMCPServer(ctx context.Context, id string) error {
	version := 0
	if text, given := a.in.Flags["version"]; given {
		if err := conf.ParseCount(&version, text); err != nil {
			return term.Invalid("braid admin mcp-server versions lists them", "--version: %q %s", term.Fit(text, 40), err)
		}
	}
	m, err := a.client.MCPServer(ctx, a.tenant, id, version)
	if err != nil {
		return err
	}
	return a.showOne(m)
}

func (a *admin) listMCPServerVersions(ctx context.Context, id string) error {
	return showList(a, a.client.MCPServerVersions(ctx, a.tenant, id), []string{"VERSION", "CREATED", "TYPE", "URL"},
		func(v *client.MCPServerVersion) []string {
			return []string{strconv.Itoa(v.Version), when(v.CreatedAt), v.Type, orDash(v.URL)}
		})
}

func (a *admin) listMCPGrants(ctx context.Context, id string) error {
	return showList(a, a.client.MCPGrants(ctx, a.tenant, id), []string{"ID", "USER", "STATUS", "ISSUER", "SCOPES"},
		func(g *client.MCPGrant) []string {
			return []string{g.ID, orDash(g.User), g.Status, orDash(g.Issuer), orDash(strings.Join(g.Scopes, " "))}
		})
}

// beginMCPSignIn prints a link. It is for the user alone.
func (a *admin) beginMCPSignIn(ctx context.Context, id string) error {
	link, err := a.client.BeginMCPSignIn(ctx, a.tenant, id, a.in.Flags["user"])
	if err != nil {
		return err
	}
	if a.in.On("json") {
		return a.showOne(link)
	}
	fmt.Fprintln(a.p.Stdout, term.CleanLine(link.URL))
	return nil
}

func (a *admin) revokeMCPGrant(ctx context.Context, id string) error {
	grant := a.in.Flags["grant"]
	if grant == "" {
		return term.Invalid("braid admin mcp-server grants lists them", "--grant is missing")
	}
	return a.client.RevokeMCPGrant(ctx, a.tenant, id, grant)
}

func (a *admin) updateMCPServer(ctx context.Context, id string) error {
	patch, err := a.mcpFields()
	if err != nil {
		return err
	}
	return a.patchMCPServer(ctx, id, patch)
}

func (a *admin) patchMCPServer(ctx context.Context, id string, patch client.Patch) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	m, err := a.client.UpdateMCPServer(ctx, a.tenant, id, read, patch)
	if err != nil {
		return err
	}
	return a.showOne(m)
}

func (a *admin) activateMCPServer(ctx context.Context, id string) error {
	return a.patchMCPServer(ctx, id, client.Patch{"status": client.Active})
}

func (a *admin) deactivateMCPServer(ctx context.Context, id string) error {
	return a.patchMCPServer(ctx, id, client.Patch{"status": client.Inactive})
}

func (a *admin) deleteMCPServer(ctx context.Context, id string) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	return a.client.DeleteMCPServer(ctx, a.tenant, id, read, a.force()...)
}

// testMCPServer connects to a server and lists its tools. A server that cannot be used is an error.
func (a *admin) testMCPServer(ctx context.Context, id string) error {
	tokens, err := a.tokens()
	if err != nil {
		return err
	}
	report, err := a.client.TestMCPServer(ctx, a.tenant, id, tokens)
	if err != nil {
		return err
	}
	if a.in.On("json") {
		err = a.showOne(report)
	} else {
		err = a.showReport(&report)
	}
	if err != nil || report.Status == "connected" {
		return err
	}
	return &event.Error{
		Kind: event.ErrUnavailable, Message: "the MCP server " + id + " is " + report.Status + ": " + report.Reason,
		Hint: "Runs go on without its tools, unless it is required.",
	}
}

func (a *admin) showReport(report *client.MCPServerReport) error {
	tools := func(yield func(client.ReportedTool, error) bool) {
		for _, t := range report.Tools {
			if !yield(t, nil) {
				return
			}
		}
	}
	a.limit = 0
	err := showList(a, tools, []string{"NAME", "EFFECT", "PERMISSION", "DESCRIPTION"}, func(t *client.ReportedTool) []string {
		return []string{t.Name, t.Effect, orDash(t.Permission), t.Description}
	})
	for _, s := range report.Skipped {
		fmt.Fprintln(a.p.Stderr, term.CleanLine("left out: "+strings.TrimSpace(s.Tool+": "+s.Why)))
	}
	return err
}

// tokens reads --tokens-file: one name=value on each line.
func (a *admin) tokens() (map[string]secret.Secret, error) {
	file, given := a.in.Flags["tokens-file"]
	if !given {
		return nil, nil //nolint:nilnil // there are none
	}
	raw, err := a.p.ReadInput("--tokens-file", file)
	if err != nil {
		return nil, err
	}
	tokens := map[string]secret.Secret{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, term.Invalid("write one name=value on each line", "--tokens-file: a line is not name=value")
		}
		tokens[strings.TrimSpace(name)] = secret.New(value)
	}
	return tokens, nil
}
