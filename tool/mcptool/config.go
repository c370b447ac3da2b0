package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
)

// Config is one MCP server, as users write it down: a command, or a URL.
// Printing and logging it shows its name and how it is reached: arguments and
// addresses may hold secrets too.
type Config struct {
	// Name is the server's name: unique, and part of its tools' names where
	// those clash.
	Name string

	// Command and Args start the server as a child process, in the folder Dir
	// ("" is the current one). Env is added to its environment.
	Command string
	Args    []string
	Env     map[string]secret.Secret
	Dir     string

	// URL reaches the server over HTTP, with Headers on each request.
	URL     string
	Headers map[string]secret.Secret
	// Proxy is the way to the URL: "" or "auto", "none", "environment", or the URL of a proxy. With "auto" the variables
	// HTTPS_PROXY and NO_PROXY count for an https URL, whose headers a proxy does not see, and none for an http URL, whose headers
	// and arguments it would read. "environment" also follows HTTP_PROXY.
	Proxy string
	// SSE speaks the older HTTP transport, of 2024-11-05.
	SSE bool

	// Dial reaches the server in any other way, such as one in this process over
	// the SDK's in-memory transports. It is called for each connection.
	Dial func(ctx context.Context) (mcp.Transport, error)

	// OAuth says how this client is known where users sign in; nil is the zero value. See [Options.SignIn].
	OAuth *OAuth

	// Tools are the only tools to take, by the server's names for them or by patterns in the syntax of [path.Match];
	// empty means all.
	Tools []string
	// Hide are more values that are masked in whatever the server says. Headers and variables whose names sound secret
	// are masked anyway.
	Hide []secret.Secret
	// Disabled servers are left alone.
	Disabled bool
}

// String names the server and how it is reached, without what may be secret.
func (c Config) String() string {
	switch {
	case c.Command != "":
		return fmt.Sprintf("%s (command %s)", c.Name, base(c.Command))
	case c.URL != "":
		host := "?"
		if u, err := url.Parse(c.URL); err == nil {
			host = u.Host
		}
		return fmt.Sprintf("%s (http %s)", c.Name, host)
	}
	return c.Name
}

// GoString is [Config.String]: %#v shows no secrets either.
func (c Config) GoString() string { return c.String() }

// LogValue is [Config.String] for logs.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// ParseConfig reads the file in which users of MCP list their servers, in the
// order in which they stand there:
//
//	{"mcpServers": {
//	  "files": {"command": "npx", "args": ["-y", "…"], "env": {"KEY": "${KEY}"}},
//	  "docs":  {"type": "http", "url": "https://…", "headers": {"Authorization": "Bearer ${TOKEN}"}}
//	}}
//
// It is strict where a slip would be silent: doubled keys, wrong types, both a
// command and a URL, or neither. Keys that it does not know are left alone,
// because every client has some of its own. Placeholders stay as they are until
// [Config.Expand]. Errors are of kind [event.ErrInvalid] and hold no values.
func ParseConfig(data []byte) ([]Config, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := strictjson.Check(data, strictjson.DefaultDepth); err != nil {
		return nil, badConfig("", "is no proper JSON: "+err.Error(), "correct it there", err)
	}
	top, err := members(data)
	if err != nil {
		return nil, badConfig("", "is no JSON object", `write {"mcpServers": {…}}`, err)
	}
	var list json.RawMessage
	var keys []string
	for _, m := range top {
		if m.key == "mcpServers" {
			list = m.value
		}
		keys = append(keys, m.key)
	}
	if list == nil {
		hint := `put the servers below the key "mcpServers"`
		for _, other := range []string{"servers", "mcp_servers", "mcpservers", "mcp"} {
			if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, other) }) {
				hint = `rename the key to "mcpServers"`
			}
		}
		return nil, badConfig("", `has no "mcpServers"`, hint, nil)
	}
	servers, err := members(list)
	if err != nil {
		return nil, badConfig("", `"mcpServers" is no object`, `write {"mcpServers": {"name": {…}}}`, err)
	}
	configs := make([]Config, 0, len(servers))
	for _, m := range servers {
		c, err := parseServer(m.key, m.value)
		if err != nil {
			return nil, err
		}
		configs = append(configs, c)
	}
	return configs, nil
}

// known are the keys that mean something here, for "did you mean".
var known = []string{"type", "command", "args", "env", "cwd", "url", "headers", "tools", "disabled", "proxy", "oauth"}

func parseServer(name string, data json.RawMessage) (Config, error) {
	c := Config{Name: name}
	fields, err := members(data)
	if err != nil {
		return c, badConfig(name, "is no object", `write {"command": "…"} or {"type": "http", "url": "…"}`, err)
	}
	kind, stranger := "", ""
	for _, f := range fields {
		var err error
		want := ""
		switch f.key {
		case "type", "transport":
			want, err = "a text", json.Unmarshal(f.value, &kind)
		case "command":
			want, err = "a text", json.Unmarshal(f.value, &c.Command)
		case "args":
			want, err = "a list of texts", json.Unmarshal(f.value, &c.Args)
		case "env":
			want, err = "an object of texts", secrets(f.value, &c.Env)
		case "cwd":
			want, err = "a text", json.Unmarshal(f.value, &c.Dir)
		case "url":
			want, err = "a text", json.Unmarshal(f.value, &c.URL)
		case "proxy":
			want, err = "a text", json.Unmarshal(f.value, &c.Proxy)
		case "headers":
			want, err = "an object of texts", secrets(f.value, &c.Headers)
		case "oauth":
			if c.OAuth, err = parseOAuth(name, f.value); err != nil {
				return c, err
			}
		case "tools":
			want, err = "a list of texts", json.Unmarshal(f.value, &c.Tools)
		case "disabled":
			want, err = "true or false", json.Unmarshal(f.value, &c.Disabled)
		default:
			if near := nearest.Word(f.key, known); near != "" {
				stranger = fmt.Sprintf("; %q is perhaps meant to be %q", f.key, near)
			}
		}
		if err != nil || want != "" && string(f.value) == "null" {
			return c, badConfig(name, fmt.Sprintf("%q is not %s", f.key, want), "write "+want, err)
		}
	}
	switch strings.ToLower(kind) {
	case "", "http", "streamable-http", "streamablehttp", "streamable_http":
	case "stdio", "local":
		if c.Command == "" {
			return c, badConfig(name, "is of type stdio and has no command"+stranger, `add "command"`, nil)
		}
	case "sse":
		c.SSE = true
	default:
		return c, badConfig(name, fmt.Sprintf("is of an unknown type %q", kind), "use stdio, http or sse", nil)
	}
	if kind != "" && c.Command == "" && c.URL == "" {
		return c, badConfig(name, "is of type "+kind+" and has no url"+stranger, `add "url"`, nil)
	}
	if e := c.check(); e != nil {
		e.Message += stranger
		return c, e
	}
	return c, nil
}

// check finds what cannot be meant.
func (c Config) check() *event.Error {
	switch {
	case strings.TrimSpace(c.Name) == "":
		return badConfig("", "has a server without a name", "name it", nil)
	case c.Command != "" && c.URL != "":
		return badConfig(c.Name, "has both a command and a url", "keep one of them", nil)
	case c.Dial != nil && c.Command+c.URL != "":
		return badConfig(c.Name, "has more than one of a command, a url and a function", "keep one of them", nil)
	case c.Command+c.URL == "" && c.Dial == nil:
		return badConfig(c.Name, "has neither a command nor a url", `add "command" or "url"`, nil)
	case c.Command != "" && (c.SSE || len(c.Headers) > 0):
		return badConfig(c.Name, "has a command and settings of HTTP", `keep "command", "args", "env" and "cwd", or give a "url"`, nil)
	}
	for k := range c.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(c.Env[k].Reveal(), 0) {
			return badConfig(c.Name, fmt.Sprintf("cannot have the environment variable %q", k), "correct its name or value", nil)
		}
	}
	if strings.ContainsRune(c.Command+strings.Join(c.Args, ""), 0) {
		return badConfig(c.Name, "has a command with a NUL in it", "remove it", nil)
	}
	if c.URL != "" && !strings.Contains(c.URL, "${") {
		u, err := url.Parse(c.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return badConfig(c.Name, "has a url that is no http or https address", "write it as https://host/path", nil)
		}
		if u.User != nil {
			return badConfig(c.Name, "has a user name or password in its url", `send it as a header: {"headers": {"Authorization": "…"}}`, nil)
		}
	}
	if bad := c.checkOAuth(); bad != nil {
		return bad
	}
	if bad := c.checkProxy(); bad != nil {
		return bad
	}
	for k, hidden := range c.Headers {
		v := hidden.Reveal()
		if !token(k) || forbidden[http.CanonicalHeaderKey(k)] || strings.HasPrefix(strings.ToLower(k), "proxy-") {
			return badConfig(c.Name, fmt.Sprintf("cannot set the header %q", k), "remove it", nil)
		}
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) || len(v) > 8<<10 {
			return badConfig(c.Name, fmt.Sprintf("has a value for the header %q that cannot be sent", k),
				"write it on one line, shorter than 8 KiB", nil)
		}
	}
	return nil
}

// forbidden are headers that belong to the transport and to the protocol.
var forbidden = map[string]bool{
	"Host": true, "Content-Length": true, "Content-Type": true, "Accept": true, "Transfer-Encoding": true, "Connection": true,
	"Upgrade": true, "Te": true, "Trailer": true, "Mcp-Session-Id": true, "Mcp-Protocol-Version": true, "Last-Event-Id": true,
}

// token is the grammar of header names (RFC 9110, 5.6.2).
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// Expand replaces ${NAME} and ${NAME:-default} in the command, its arguments,
// the values of its environment, the URL, the values of headers and what is below "oauth" by what lookup gives. Each
// text is read once: what was put in is not looked at again. A name that is not
// there and has no default is an error of kind [event.ErrInvalid], and so is a
// value that cannot stand where it is put. The configuration itself is not changed.
func (c Config) Expand(lookup func(name string) (string, bool)) (Config, error) {
	var missing []string
	in := func(s string) string { return expand(s, lookup, &missing) }
	c.Command, c.URL, c.Dir, c.Proxy = in(c.Command), in(c.URL), in(c.Dir), in(c.Proxy)
	c.Args = slices.Clone(c.Args)
	for i := range c.Args {
		c.Args[i] = in(c.Args[i])
	}
	inMap := func(m map[string]secret.Secret) map[string]secret.Secret {
		if m == nil {
			return nil
		}
		out := make(map[string]secret.Secret, len(m))
		for k, v := range m {
			out[k] = secret.New(in(v.Reveal()))
		}
		return out
	}
	c.Env, c.Headers = inMap(c.Env), inMap(c.Headers)
	if c.OAuth != nil {
		o := *c.OAuth
		o.ClientID, o.ClientSecret, o.Issuer = in(o.ClientID), secret.New(in(o.ClientSecret.Reveal())), in(o.Issuer)
		c.OAuth = &o
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		missing = slices.Compact(missing)
		return c, badConfig(c.Name, "needs "+strings.Join(missing, ", ")+", which is not set",
			"set it, or write a default as ${NAME:-default}", nil)
	}
	if e := c.check(); e != nil {
		return c, e
	}
	return c, nil
}

// expand reads s once. "${" without its end, or around what is no name, stays.
func expand(s string, lookup func(string) (string, bool), missing *[]string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		inside, after, closed := strings.Cut(rest, "}")
		name, byDefault, hasDefault := strings.Cut(inside, ":-")
		if !closed || !variable(name) {
			out.WriteString("${")
			s = rest
			continue
		}
		switch v, ok := lookup(name); {
		case ok && (v != "" || !hasDefault):
			out.WriteString(v)
		case hasDefault:
			out.WriteString(byDefault)
		default:
			*missing = append(*missing, name)
		}
		s = after
	}
}

func variable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// secrets reads an object of texts.
func secrets(data json.RawMessage, into *map[string]secret.Secret) error {
	var plain map[string]string
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	*into = make(map[string]secret.Secret, len(plain))
	for k, v := range plain {
		(*into)[k] = secret.New(v)
	}
	return nil
}

type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("no object")

// members lists an object's members in the order of the text, which has been
// checked.
func members(data json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	var list []member
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		list = append(list, member{key, value})
	}
	return list, nil
}

func badConfig(server, what, hint string, cause error) *event.Error {
	who := "the list of MCP servers"
	if server != "" {
		who = fmt.Sprintf("the MCP server %q", server)
	}
	return &event.Error{Op: "mcp", Kind: event.ErrInvalid, Message: who + " " + what, Hint: hint, Err: cause}
}

// base is a command without its folders, for people.
func base(command string) string {
	if i := strings.LastIndexAny(command, `/\`); i >= 0 {
		return command[i+1:]
	}
	return command
}
