package toolservers

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool/openapitool"
)

// Check returns an error with the code MCP_SERVER_INVALID for a server that no run could use: its
// address is not allowed, its program is not listed, or its document cannot be read. document is
// nil if the stored one stays. Check connects to nothing.
func (p *Pool) Check(s *directory.MCPServer, document []byte) error {
	if s.Type == directory.MCPStdio {
		return p.checkProgram(s.Program)
	}
	u, err := url.Parse(s.URL)
	if err == nil {
		err = p.documents.CheckURL(u)
	}
	if err != nil {
		return unusable("url", err)
	}
	for _, scheme := range slices.Sorted(maps.Keys(s.Credentials)) {
		address := s.Credentials[scheme].TokenURL
		if address == "" {
			continue
		}
		if u, err = url.Parse(address); err == nil {
			err = p.documents.CheckURL(u)
		}
		if err != nil {
			return unusable("token_url", err)
		}
	}
	if document == nil {
		return nil
	}
	o := apiOptions(s)
	o.Transport = p.documents // nothing is called
	if _, err := openapitool.Load(document, o); err != nil {
		return unusable("document", err)
	}
	return nil
}

// checkProgram returns an error for a program that the operator does not list.
func (p *Pool) checkProgram(name string) error {
	if _, ok := p.options.Programs[name]; ok {
		return nil
	}
	hint := "use another type: this service starts no programs for tenants"
	if names := slices.Sorted(maps.Keys(p.options.Programs)); len(names) > 0 {
		hint = "the programs are " + strings.Join(names, ", ")
	}
	return &event.Error{
		Op: "MCP server", Kind: event.ErrInvalid, Code: codeInvalid,
		Message: "program: the operator lists no program " + strconv.Quote(plain(name, 100)),
		Hint:    hint,
	}
}

// These are the codes of the errors of this package.
const (
	codeInvalid = "MCP_SERVER_INVALID"
	codeFailed  = "MCP_SERVER_FAILED"
)

// unusable returns the error for a field that no run could use.
func unusable(field string, err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return &event.Error{
			Op: "MCP server", Kind: event.ErrInvalid, Code: codeInvalid, Message: field + " cannot be used",
			Hint: "correct it", Err: err,
		}
	}
	if e.Kind == event.ErrTooLarge {
		return e
	}
	return &event.Error{
		Op: "MCP server", Kind: event.ErrInvalid, Code: codeInvalid, Message: field + ": " + plain(e.Message, 500),
		Hint: plain(e.Hint, 500), Err: err,
	}
}

// fetchTime bounds fetching a document.
const fetchTime = 30 * time.Second

// newDocuments returns the guard that fetches documents.
func newDocuments(o *Options) (*netguard.Guard, error) {
	return netguard.New(netguard.Options{Allow: o.AllowHosts, Timeout: fetchTime, MaxBytes: mostDocument + 1, Redirects: 3})
}

// Fetch reads an OpenAPI document from an address that a tenant named. It sends no credential.
func (p *Pool) Fetch(ctx context.Context, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &event.Error{
			Op: "MCP server", Kind: event.ErrInvalid, Code: codeInvalid, Message: "document_url is not an address",
			Hint: "write it as https://host/path",
		}
	}
	r.Header.Set("Accept", "application/json, application/yaml, */*;q=0.5")
	resp, err := p.documents.Client().Do(r)
	if err != nil {
		return nil, fetchFault(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, unusable("document_url", &event.Error{
			Message: "the server answers with the status " + strconv.Itoa(resp.StatusCode), Hint: "check the address, or upload the document",
		})
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostDocument+1))
	if err != nil {
		return nil, fetchFault(ctx, err)
	}
	if len(data) == 0 {
		return nil, unusable("document_url", &event.Error{Message: "the document is empty", Hint: "check the address, or upload the document"})
	}
	return data, nil
}

// fetchFault returns the error of a request that got no document. A tenant does not learn what an
// address inside the network answers.
func fetchFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return unusable("document_url", e)
	}
	return unusable("document_url", &event.Error{
		Message: "the server cannot be reached",
		Hint:    "check the address, or upload the document", Err: err,
	})
}
