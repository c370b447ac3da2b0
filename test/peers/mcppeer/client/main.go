// Command client is what the conformance suite of the Model Context Protocol
// starts: a program that uses package mcptool as an agent would, one scenario a
// time. The suite is the server; it judges what it gets to see.
//
// Usage: MCP_CONFORMANCE_SCENARIO=… client URL
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/mcpauth"
	"github.com/braidrun/braid/tool/mcptool"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // a command's main
	}
}

// wanted is what the suite adds to some scenarios.
type wanted struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Calls        []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"` //nolint:tagliatelle // the suite's name
}

func run(ctx context.Context, args []string, env func(string) string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: client URL")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	scenario := env("MCP_CONFORMANCE_SCENARIO")
	var w wanted
	if text := env("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			return err
		}
	}
	o := mcptool.Options{Protocol: env("MCP_CONFORMANCE_PROTOCOL_VERSION")}
	switch {
	case scenario == "elicitation-sep1034-client-defaults":
		o.Elicit = accept(map[string]any{})
	case scenario == "sep-2322-client-request-state":
		o.Elicit = accept(map[string]any{"confirmed": true})
	case strings.HasPrefix(scenario, "auth/"):
		return signedIn(ctx, o, w, args[0], out)
	}
	servers, err := mcptool.Connect(ctx, o, mcptool.Config{Name: "suite", URL: args[0]})
	if err != nil {
		for e := err; e != nil; e = errors.Unwrap(e) {
			fmt.Fprintf(os.Stderr, "%T %v\n", e, e)
		}
		return err
	}
	defer servers.Close()
	call := func(name string, args json.RawMessage) error {
		for _, t := range servers.Tools() {
			if t, ok := t.(*mcptool.Tool); ok && t.Name() == name {
				result, err := t.Call(ctx, args)
				fmt.Fprintf(out, "%s: %+v %v\n", name, result, err)
				return err
			}
		}
		return fmt.Errorf("there is no tool %q", name)
	}
	switch scenario {
	case "tools_call":
		return call("add_numbers", json.RawMessage(`{"a":5,"b":3}`))
	case "elicitation-sep1034-client-defaults":
		return call("test_client_elicitation_defaults", nil)
	case "sse-retry":
		return call("test_reconnection", nil)
	case "json-schema-2020-12-preservation":
		for _, t := range servers.Tools() {
			if s := t.Spec(); s.Name == "json_schema_2020_12_tool" {
				return call("json_schema_echo", json.RawMessage(`{"schema":`+string(s.Schema)+`}`))
			}
		}
		return errors.New("the tool with the schema was not taken")
	case "http-custom-headers":
		for _, c := range w.Calls {
			_ = call(c.Name, c.Arguments) // some are meant to be refused
		}
	case "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			_ = call(name, nil) // some are meant to be refused
		}
	case "http-invalid-tool-headers", "http-standard-headers":
		for _, t := range servers.Tools() {
			_ = call(t.Spec().Name, json.RawMessage(`{"region":"us-west1"}`))
		}
	}
	return nil
}

// signedIn uses a server that wants the user to sign in, as often as it wants, and calls its tool.
func signedIn(ctx context.Context, o mcptool.Options, w wanted, address string, out io.Writer) error {
	o.SignIn = mcptool.SignInWith(mcpauth.Options{
		Redirect: "http://localhost:3000/callback", ClientMetadataURL: "https://conformance-test.local/client-metadata.json",
		Store: mcpauth.Memory(), ClientID: w.ClientID, ClientSecret: secret.New(w.ClientSecret),
	})
	servers, err := mcptool.Reach(ctx, o, mcptool.Config{Name: "suite", URL: address})
	if err != nil {
		return err
	}
	defer servers.Close()
	for range mostSignIns {
		servers.Refresh(ctx)
		err := servers.Status()[0].Err
		for _, t := range servers.Tools() {
			if t, ok := t.(*mcptool.Tool); ok && t.Name() == "test-tool" {
				var result tool.Output
				if result, err = t.Call(ctx, nil); err == nil {
					fmt.Fprintf(out, "%+v\n", result)
					return nil
				}
			}
		}
		if !mcpauth.Needed(err) {
			return chain(err)
		}
		begun, err := servers.BeginSignIn(ctx, "suite")
		if err != nil {
			return chain(err)
		}
		back, err := visit(ctx, begun.URL)
		if err != nil {
			return err
		}
		if _, err := servers.CompleteSignIn(ctx, back); err != nil {
			return chain(err)
		}
	}
	return errors.New("the server always wants another sign-in")
}

// mostSignIns bounds how often a user would sign in for one call.
const mostSignIns = 4

// chain prints an error with its causes.
func chain(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(os.Stderr, "%T %v\n", e, e)
	}
	return err
}

func accept(content map[string]any) func(context.Context, mcptool.Question) (mcptool.Reply, error) {
	return func(context.Context, mcptool.Question) (mcptool.Reply, error) {
		return mcptool.Reply{Action: "accept", Content: content}, nil
	}
}

// visit opens a link as a browser does. The suite's authorization server sends the user back at once.
func visit(ctx context.Context, link string) (back string, err error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Header.Get("Location"), nil
}
