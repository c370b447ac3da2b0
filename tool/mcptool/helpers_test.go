package mcptool_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/mcptool"
)

// program is the configuration of a child in a mode.
func program(t *testing.T, mode string) mcptool.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Under the race detector, programs sleep for a second before they end.
	return mcptool.Config{Name: mode, Command: self, Env: hidden(map[string]string{
		"MCPTOOL_CHILD": mode, "GORACE": "atexit_sleep_ms=0",
	})}
}

// patient are options under which a busy machine is no failure.
func patient() mcptool.Options {
	return mcptool.Options{Commands: true, ConnectTimeout: time.Minute}
}

func connect(t *testing.T, o mcptool.Options, configs ...mcptool.Config) *mcptool.Servers {
	t.Helper()
	s, err := mcptool.Connect(t.Context(), o, configs...)
	if err != nil {
		t.Fatalf("%v\n%s", err, mcptool.Stderr(err))
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// inside is a server in this process, over pipes.
func inside(t *testing.T, name string, s *mcp.Server) mcptool.Config {
	t.Helper()
	return mcptool.Config{Name: name, Dial: func(context.Context) (mcp.Transport, error) {
		here, there := mcp.NewInMemoryTransports()
		session, err := s.Connect(context.Background(), there, nil)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = session.Close() })
		return here, nil
	}}
}

func toolOf(t *testing.T, s *mcptool.Servers, name string) *mcptool.Tool {
	t.Helper()
	for _, one := range s.Tools() {
		if one, ok := one.(*mcptool.Tool); ok && one.Spec().Name == name {
			return one
		}
	}
	t.Fatalf("there is no tool %q in %v; %+v", name, names(s), s.Status())
	return nil
}

func names(s *mcptool.Servers) []string {
	var list []string
	for _, one := range s.Tools() {
		list = append(list, one.Spec().Name)
	}
	return list
}

func call(t *testing.T, s *mcptool.Servers, name, args string) (tool.Output, error) {
	t.Helper()
	return toolOf(t, s, name).Call(t.Context(), json.RawMessage(args))
}

// text calls a tool that must succeed and gives its text.
func text(t *testing.T, s *mcptool.Servers, name, args string) string {
	t.Helper()
	out, err := call(t, s, name, args)
	if err != nil {
		t.Fatalf("%s: %v (%v)\n%s", name, err, cause(err), mcptool.Stderr(err))
	}
	return event.TextOf(out.Content)
}

func cause(err error) error {
	for err != nil {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || u.Unwrap() == nil {
			break
		}
		err = u.Unwrap()
	}
	return err
}

// hidden makes secrets of texts.
func hidden(m map[string]string) map[string]secret.Secret {
	out := map[string]secret.Secret{}
	for k, v := range m {
		out[k] = secret.New(v)
	}
	return out
}

func with(c mcptool.Config, env map[string]string) mcptool.Config {
	c.Env = maps.Clone(c.Env)
	maps.Copy(c.Env, hidden(env))
	return c
}

func says(s string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil
	}
}
