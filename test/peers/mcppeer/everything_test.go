//go:build peers

package mcppeer

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/mcptool"
)

// everything is the reference server, over one of its transports.
func everything(t *testing.T, transport string) (c mcptool.Config, restart func()) {
	t.Helper()
	restart = func() {}
	node := installed(t, ".bin", "node")
	index := installed(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	c = mcptool.Config{Name: "everything"}
	if transport == "stdio" {
		c.Command, c.Args = node, []string{index, "stdio"}
		return c, restart
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	run := func() *exec.Cmd {
		cmd := exec.Command(node, index, transport)
		cmd.Env = append(os.Environ(), "PORT="+port)
		cmd.WaitDelay = 5 * time.Second
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err == nil {
				_ = conn.Close()
				break
			}
			<-time.After(100 * time.Millisecond)
		}
		return cmd
	}
	cmd := run()
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(func() {
		end()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	restart = func() { end(); cmd = run() }
	c.URL = "http://" + address + "/mcp"
	if transport == "sse" {
		c.URL, c.SSE = "http://"+address+"/sse", true
	}
	return c, restart
}

func TestServerEverything(t *testing.T) {
	for _, transport := range []string{"stdio", "streamableHttp", "sse"} {
		t.Run(transport, func(t *testing.T) {
			o := mcptool.Options{
				Commands: true, ConnectTimeout: time.Minute,
				Elicit: func(_ context.Context, q mcptool.Question) (mcptool.Reply, error) {
					if !strings.Contains(string(q.Schema), `"type"`) {
						t.Errorf("the question is %+v", q)
					}
					return mcptool.Reply{Action: "accept", Content: map[string]any{"name": "Ada", "check": true}}, nil
				},
			}
			config, restart := everything(t, transport)
			s, err := mcptool.Connect(t.Context(), o, config)
			if err != nil {
				t.Fatal(err, mcptool.Stderr(err))
			}
			defer s.Close()
			st := s.Status()[0]
			t.Logf("%s speaks %s; %d tools", st.Server, st.Protocol, st.Tools)
			if len(st.Skipped) > 0 || st.Tools < 12 {
				t.Errorf("%+v", st)
			}
			if p := s.Prompt(""); !strings.Contains(p, `<mcp_server_instructions server="everything">`) {
				t.Errorf("the prompt is %q", p)
			}
			call := func(name, args string) tool.Output {
				t.Helper()
				for _, one := range s.Tools() {
					if one.Spec().Name == name {
						out, err := one.Call(t.Context(), json.RawMessage(args))
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
						return out
					}
				}
				t.Errorf("there is no tool %s", name)
				return tool.Output{}
			}
			kinds := func(out tool.Output) string {
				var list []string
				for _, b := range out.Content {
					list = append(list, string(b.BlockKind()))
				}
				return strings.Join(list, " ")
			}
			if got := event.TextOf(call("echo", `{"message":"読む"}`).Content); got != "Echo: 読む" {
				t.Errorf("echo gives %q", got)
			}
			if got := event.TextOf(call("get-sum", `{"a":2,"b":40}`).Content); !strings.Contains(got, "42") {
				t.Errorf("get-sum gives %q", got)
			}
			// Arguments that do not fit are the server's to refuse, and the model's to mend.
			if out := call("get-sum", `{"a":"two"}`); !out.IsError || !strings.Contains(event.TextOf(out.Content), "b") {
				t.Errorf("a wrong sum gives %+v", out)
			}
			if out := call("get-tiny-image", `{}`); !strings.Contains(kinds(out), "image") {
				t.Errorf("get-tiny-image gives %s", kinds(out))
			}
			if out := call("get-structured-content", `{"location":"New York"}`); !strings.Contains(string(out.Structured), `"temperature"`) {
				t.Errorf("get-structured-content gives %s", out.Structured)
			}
			if out := call("get-resource-reference", `{"resourceType":"Text","resourceId":1}`); !strings.Contains(kinds(out), "document") {
				t.Errorf("get-resource-reference gives %s", kinds(out))
			}
			if out := call("get-resource-reference", `{"resourceType":"Blob","resourceId":2}`); !strings.Contains(kinds(out), "document") {
				t.Errorf("get-resource-reference gives %s", kinds(out))
			}
			if out := call("get-resource-links", `{"count":3}`); !strings.Contains(event.TextOf(out.Content), "[resource demo://") {
				t.Errorf("get-resource-links gives %q", event.TextOf(out.Content))
			}
			if out := call("get-annotated-message", `{"messageType":"error","includeImage":true}`); kinds(out) != "text image" {
				t.Errorf("get-annotated-message gives %s", kinds(out))
			}
			if out := call("trigger-elicitation-request", `{}`); !strings.Contains(event.TextOf(out.Content), "Ada") {
				t.Errorf("trigger-elicitation-request gives %q", event.TextOf(out.Content))
			}
			if transport == "stdio" {
				// It sees what it was given, and nothing else.
				env := event.TextOf(call("get-env", `{}`).Content)
				var has map[string]string
				if err := json.Unmarshal([]byte(env), &has); err != nil {
					t.Errorf("get-env gives %q", env)
				}
				for name := range has {
					if !slices.Contains(mcptool.DefaultInherit(), name) {
						t.Errorf("the server has %s", name)
					}
				}
			}
			progress(t, s)
			cancelled(t, s)
			// A new server knows nothing of the session.
			restart()
			if got := event.TextOf(call("echo", `{"message":"again"}`).Content); got != "Echo: again" {
				t.Errorf("after a restart echo gives %q", got)
			}
		})
	}
}

// progress runs a long operation in an agent, and looks at what watchers see.
func progress(t *testing.T, s *mcptool.Servers) {
	t.Helper()
	model, err := demo.New(demo.Replies("script",
		[]demo.Piece{demo.Call("trigger-long-running-operation", `{"duration":1,"steps":4}`)}, []demo.Piece{demo.Say("done")}))
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	agent := braid.New("a", model, braid.Instructions(s.Prompt("")), braid.Tools(s.Tools()...))
	for e, err := range agent.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *event.ToolProgress:
			seen = append(seen, b.Text)
		case *event.StepEnded:
			if b.Result.IsError || !strings.Contains(event.TextOf(b.Result.Content), "completed") {
				t.Errorf("the operation gives %q", event.TextOf(b.Result.Content))
			}
		}
	}
	if !slices.Contains(seen, "2/4") {
		t.Errorf("the progress is %q", seen)
	}
}

func cancelled(t *testing.T, s *mcptool.Servers) {
	t.Helper()
	for _, one := range s.Tools() {
		if one.Spec().Name != "trigger-long-running-operation" {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		begin := time.Now()
		_, err := one.Call(ctx, json.RawMessage(`{"duration":30,"steps":3}`))
		cancel()
		if err == nil || time.Since(begin) > 5*time.Second {
			t.Errorf("a cancelled call ended after %v with %v", time.Since(begin), err)
		}
		if out, err := s.Tools()[0].Call(t.Context(), json.RawMessage(`{"message":"still there"}`)); err != nil {
			t.Errorf("afterwards: %s, %v", fmt.Sprint(out.Content), err)
		}
	}
}
