package directory

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

const (
	mostHeaders     = 64
	mostSeconds     = 24 * 60 * 60
	longestDocument = 16 << 20
)

// check validates a server by itself.
func (s *MCPServer) check(op string) error {
	c := checker{op: op}
	c.slug("tenant", s.Tenant)
	c.slug("MCP server", s.ID)
	c.status(s.Status)
	c.text("the name", s.Name, longestName)
	s.checkPlace(&c)
	s.checkHeaders(&c)
	checkCredentials(&c, s.Credentials, s.SecretCredentials)
	s.checkOAuth(&c)
	c.patterns("allowed_tools", s.Tools)
	c.want(s.Tools == nil || len(s.Tools) > 0, "allowed_tools is empty", "leave it out for all tools, or make the server inactive")
	c.want(len(s.Overrides) <= mostPatterns, "tool_overrides has too many entries", "use patterns, such as \"get_*\"")
	for i, o := range s.Overrides {
		field := fmt.Sprintf("tool_overrides[%d]", i)
		c.patterns(field+".tool", []string{o.Tool})
		c.want(o.Effect == "" || o.Effect == event.EffectPure || o.Effect == event.EffectIdempotent || o.Effect == event.EffectUnsafe,
			field+": there is no such effect", "use pure, idempotent or unsafe")
		c.want(o.Permission == "" || o.Permission == ToolAllow || o.Permission == ToolAsk || o.Permission == ToolDeny,
			field+": there is no such permission", "use allow, ask or deny")
		c.want(o.Effect != "" || o.Permission != "", field+" changes nothing", "set effect or permission")
	}
	c.want(s.Seconds >= 0 && s.Seconds <= mostSeconds, "timeout_seconds is out of bounds",
		"use seconds from 1 to 86400, or 0 for the service's limit")
	return c.err
}

// checkPlace checks how the server is reached. The service checks whether it may be.
func (s *MCPServer) checkPlace(c *checker) {
	switch s.Type {
	case MCPStdio:
		c.want(s.Program != "", "a stdio server has no program", "name one that the operator of this service lists")
		c.text("the program", s.Program, longestName)
		c.want(s.URL == "", "a stdio server has a url", "leave it out")
		c.want(len(s.Headers) == 0 && len(s.SecretHeaders) == 0, "a stdio server has headers", "leave them out")
	case MCPHTTP, MCPSSE, MCPOpenAPI:
		c.want(s.Program == "", "only a stdio server has a program", "leave it out")
		c.want(s.URL != "", "the server has no url", "send it, such as https://mcp.example/mcp")
		c.want(isBaseURL(s.URL, s.Type == MCPOpenAPI), "the url cannot be used",
			"write it as https://host/path, without user, fragment and ${}; that of an openapi server also without a query")
	default:
		c.want(false, "there is no such type of an MCP server", "use http, sse, openapi or stdio")
	}
	c.want((s.Document != nil) == (s.Type == MCPOpenAPI), "an openapi server has a document, and no other one does",
		"send document or document_url for a server of type openapi")
}

// checkHeaders checks names and templates of headers.
func (s *MCPServer) checkHeaders(c *checker) {
	c.want(len(s.Headers)+len(s.SecretHeaders) <= mostHeaders, "there are too many headers", "send at most 64")
	seen := map[string]bool{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(s.Headers)), slices.Sorted(maps.Keys(s.SecretHeaders))) {
		canonical := http.CanonicalHeaderKey(name)
		c.want(isHeaderName(name) && !ownHeaders[canonical] && !strings.HasPrefix(canonical, "Proxy-"),
			"the header "+headerNamed(name)+" cannot be set", "leave it out: it belongs to the transport or to the protocol")
		c.want(!seen[canonical], "the header "+headerNamed(name)+" is there twice", "send it once, in headers_template or in secret_headers")
		seen[canonical] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		t, what := ParseHeaderTemplate(s.Headers[name])
		c.want(what == "", "headers_template: the value of "+headerNamed(name)+" "+what, "write text and ${name} for a token of the run")
		c.want(what != "" || len(t) > 1 || !secret.Names(name),
			"headers_template: the value of "+headerNamed(name)+" is a secret that everybody could read",
			"send it in secret_headers, or write ${name} for a token of the run")
	}
}

// ownHeaders belong to HTTP, to the connection or to the protocol.
var ownHeaders = map[string]bool{
	"Host": true, "Content-Length": true, "Content-Type": true, "Content-Encoding": true, "Accept": true, "Accept-Encoding": true,
	"Transfer-Encoding": true, "Connection": true, "Keep-Alive": true, "Upgrade": true, "Te": true, "Trailer": true, "Expect": true,
	"Mcp-Session-Id": true, "Mcp-Protocol-Version": true, "Last-Event-Id": true,
}

// isHeaderName checks the grammar of RFC 9110, section 5.6.2.
func isHeaderName(s string) bool {
	return s != "" && len(s) <= longestName && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// check validates what is stored beside the spec.
func (in *MCPServerInput) check(op string) error {
	c := checker{op: op}
	for name, value := range in.Headers {
		text := value.Reveal()
		c.want(sendable(text) && len(text) <= longestHeader, "secret_headers: the value of "+headerNamed(name)+" cannot be sent",
			"write it on one line, of at most 8 KiB")
	}
	checkStoredCredentials(&c, in.Credentials)
	if len(in.Document) > longestDocument {
		return &event.Error{
			Op: op, Kind: event.ErrTooLarge, Message: "the OpenAPI document is larger than 16 MiB", Hint: "leave out what is not needed",
		}
	}
	return c.err
}

// headerNamed returns a header's name for an error. It does not repeat a text that cannot be a name.
func headerNamed(name string) string {
	if !isHeaderName(name) {
		return "of this name"
	}
	return strconv.Quote(name)
}
