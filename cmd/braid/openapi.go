package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

// mostWarnings is the maximum of operations of one document that a warning names.
const mostWarnings = 5

// openAPIs reads the OpenAPI documents of the settings. Their tools have other names than own. skipped is called for operations that are
// left out; without a name it stands for the rest.
func (p *process) openAPIs(
	ctx context.Context, s *conf.Settings, own []braid.Tool, skipped func(api, tool, why string),
) (apis []*openapitool.API, err error) {
	if s.OpenAPIServer != "" && len(s.OpenAPI) != 1 {
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "--openapi-server is for exactly one OpenAPI document", Hint: "name one document with --openapi",
		}
	}
	o := openapitool.Options{Server: s.OpenAPIServer, OtherSchemes: true}
	if o.Credentials, err = p.apiCredentials(s); err != nil {
		return nil, err
	}
	for _, t := range own {
		o.Reserved = append(o.Reserved, t.Spec().Name)
	}
	lacking := maps.Clone(s.OpenAPIAuth)
	for _, name := range s.OpenAPI {
		api, err := openapitool.Open(ctx, name, o)
		if err != nil {
			closeAPIs(apis)
			return nil, err
		}
		apis = append(apis, api)
		for _, scheme := range api.Schemes() {
			delete(lacking, scheme)
		}
		for _, t := range api.Tools() {
			o.Reserved = append(o.Reserved, t.Spec().Name)
		}
		left := api.Skipped()
		for i, one := range left {
			if i == mostWarnings {
				skipped(api.Name(), "", strconv.Itoa(len(left)-i)+" more operations are left out")
				break
			}
			skipped(api.Name(), one.Tool, one.Why)
		}
	}
	for scheme := range lacking {
		closeAPIs(apis)
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "no OpenAPI document has the security scheme " + strconv.Quote(term.CleanLine(term.Fit(scheme, 60))),
			Hint: "name one of its security schemes with --openapi-auth",
		}
	}
	return apis, nil
}

// apiCredentials reads the credentials from the environment. What a value is, its security scheme says.
func (p *process) apiCredentials(s *conf.Settings) (map[string]openapitool.Credential, error) {
	credentials := map[string]openapitool.Credential{}
	for _, scheme := range slices.Sorted(maps.Keys(s.OpenAPIAuth)) {
		variable := s.OpenAPIAuth[scheme]
		value := p.Getenv(variable)
		if value == "" {
			return nil, &event.Error{
				Kind: event.ErrUnauthenticated, Message: "the variable " + strconv.Quote(term.CleanLine(term.Fit(variable, 60))) + " is not set",
				Hint: "set it to the credential of the API, or change --openapi-auth",
			}
		}
		literal := func(text string) secret.Secret { return secret.New(openapitool.Literal(text)) }
		c := openapitool.Credential{Token: literal(value)}
		if user, password, ok := strings.Cut(value, ":"); ok && password != "" {
			c.Password, c.ClientSecret = literal(password), literal(password)
			c.User = openapitool.Literal(user)
			c.ClientID = c.User
		}
		credentials[scheme] = c
	}
	return credentials, nil
}

// sourceOf returns an API as a source of tools. If the user wants no search of tools, the model is shown all of them.
func sourceOf(api *openapitool.API, search int) tool.Source {
	if search == 0 {
		return struct{ tool.ServerSource }{api}
	}
	return api
}

// apiTools returns the tools of all documents.
func apiTools(apis []*openapitool.API) (tools []tool.Tool) {
	for _, api := range apis {
		tools = append(tools, api.Tools()...)
	}
	return tools
}

func closeAPIs(apis []*openapitool.API) {
	for _, api := range apis {
		_ = api.Close() // it closes idle connections only
	}
}

// checkOpenAPI reads the configured OpenAPI documents.
func checkOpenAPI(ctx context.Context, d *diagnosis) {
	if len(d.cfg.OpenAPI) == 0 {
		d.ok("no OpenAPI documents are configured")
		return
	}
	ctx, stop := context.WithTimeout(ctx, mcpTime)
	defer stop()
	apis, err := d.p.openAPIs(ctx, &d.cfg.Settings, nil, func(api, tool, why string) {
		d.warn("correct it in the document, or go without it", "%s of the OpenAPI document %s: %s", tool, api, why)
	})
	if err != nil {
		d.brokenBy(err, "correct --openapi")
		return
	}
	defer closeAPIs(apis)
	for _, api := range apis {
		d.ok("the OpenAPI document %s has %d tools", api.Name(), len(api.Tools()))
	}
}
