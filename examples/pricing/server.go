package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// order is what the server says of its use. Each tool's description says it again at
// its place: a model has nothing else to go by.
const order = "Work from the service to the price: codes, then attributes, then their values, then the price."

// What the tools take and give.
type (
	codesIn  struct{}
	codesOut struct {
		Services []codeOut `json:"services"`
	}
	codeOut struct {
		Code  string `json:"code"`
		About string `json:"about"`
	}
	attributesIn struct {
		Service string `json:"service_code" jsonschema:"a code that get_pricing_service_codes gave"`
	}
	attributesOut struct {
		Attributes []string `json:"attributes"`
	}
	valuesIn struct {
		Service   string `json:"service_code"   jsonschema:"a code that get_pricing_service_codes gave"`
		Attribute string `json:"attribute_name" jsonschema:"an attribute that get_pricing_service_attributes gave"`
	}
	valuesOut struct {
		Values []string `json:"values"`
	}
	pricingIn struct {
		Service string   `json:"service_code" jsonschema:"a code that get_pricing_service_codes gave"`
		Filters []filter `json:"filters"      jsonschema:"what the product is; one product is to be left"`
	}
	filter struct {
		Field string `json:"field" jsonschema:"an attribute"`
		Value string `json:"value" jsonschema:"one of its values, as get_pricing_attribute_values wrote it"`
	}
	pricingOut struct {
		Service string `json:"service_code"`
		Unit    string `json:"unit"`
		USD     string `json:"usd"`
		Note    string `json:"note"`
	}
)

// newServer makes the pricing server, with the official SDK. It only reads, and says
// so of each of its tools.
func newServer() (*mcp.Server, error) {
	t, err := readTable()
	if err != nil {
		return nil, err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "pricing-example", Version: "1"}, &mcp.ServerOptions{Instructions: order})
	tool := func(name, description string) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	}
	mcp.AddTool(
		s, tool("get_pricing_service_codes", "Lists the services that have prices. Begin here."),
		func(context.Context, *mcp.CallToolRequest, codesIn) (*mcp.CallToolResult, codesOut, error) {
			var out codesOut
			for _, one := range t.Services {
				out.Services = append(out.Services, codeOut{one.Code, one.About})
			}
			return nil, out, nil
		},
	)
	mcp.AddTool(
		s, tool("get_pricing_service_attributes", "Lists what the products of a service differ in. Comes second, with a service code."),
		func(_ context.Context, _ *mcp.CallToolRequest, in attributesIn) (*mcp.CallToolResult, attributesOut, error) {
			one, err := t.service(in.Service)
			if err != nil {
				return nil, attributesOut{}, err
			}
			return nil, attributesOut{one.attributes()}, nil
		},
	)
	mcp.AddTool(
		s, tool("get_pricing_attribute_values", "Lists what one attribute of a service may be. Comes third, for each attribute that matters."),
		func(_ context.Context, _ *mcp.CallToolRequest, in valuesIn) (*mcp.CallToolResult, valuesOut, error) {
			one, err := t.service(in.Service)
			if err != nil {
				return nil, valuesOut{}, err
			}
			values, err := one.values(in.Attribute)
			return nil, valuesOut{values}, err
		},
	)
	mcp.AddTool(
		s, tool("get_pricing", "Gives the price of one product in US dollars, and its unit. Comes last, with filters that leave one product."),
		func(_ context.Context, _ *mcp.CallToolRequest, in pricingIn) (*mcp.CallToolResult, pricingOut, error) {
			one, err := t.service(in.Service)
			if err != nil {
				return nil, pricingOut{}, err
			}
			attributes := map[string]string{}
			for _, f := range in.Filters {
				attributes[f.Field] = f.Value
			}
			p, err := one.one(attributes)
			if err != nil {
				return nil, pricingOut{}, err
			}
			return nil, pricingOut{in.Service, p.Unit, p.USD, t.Note}, nil
		},
	)
	return s, nil
}

// serveStdio is the whole of the program that the agent starts: the server, until its
// input ends.
func serveStdio(ctx context.Context) error {
	s, err := newServer()
	if err != nil {
		return err
	}
	if err := s.Run(ctx, &mcp.StdioTransport{}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// serveHTTP serves on a free port of this machine, over streamable HTTP, until end is
// called.
func serveHTTP(ctx context.Context) (url string, end func(), err error) {
	s, err := newServer()
	if err != nil {
		return "", nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{
		Handler:           mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil),
		ReadHeaderTimeout: 10 * time.Second,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // it ends because it was closed
	}()
	return "http://" + listener.Addr().String(), func() {
		_ = server.Close()
		<-done
		for session := range s.Sessions() {
			_ = session.Close()
		}
	}, nil
}
