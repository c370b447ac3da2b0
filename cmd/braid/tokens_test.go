package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/telemetry"
)

// runToken is a token that a caller sends with a run.
const runToken = "ght_9fK2/mQ7+xW4=zT6"

// tokenForms are the forms in which the test's tools and models repeat the token.
func tokenForms() []string {
	quoted, _ := json.Marshal("<" + runToken + ">")
	return []string{
		runToken, base64.StdEncoding.EncodeToString([]byte("git:" + runToken)), hex.EncodeToString([]byte(runToken)), url.QueryEscape(runToken),
		string(quoted),
	}
}

// traces are the parts of the token that must be nowhere.
var tokenTraces = []string{
	runToken, "9fK2/mQ7", "9fK2%2FmQ7", `9fK2\/mQ7`, hex.EncodeToString([]byte("mQ7+xW4")), base64.StdEncoding.EncodeToString([]byte("t_9fK2/mQ7+xW4=z"))[:20],
}

// gossip is a model that calls every tool and then repeats the token in all forms, in pieces.
type gossip struct{ size int }

func (gossip) Info() model.Info { return model.Info{Name: "test:gossip"} }

func (g gossip) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		say := func(kind model.ChunkKind, index int, text string) bool {
			for text != "" {
				n := min(g.size, len(text))
				if !yield(model.Chunk{Kind: kind, Index: index, Text: text[:n]}, nil) {
					return false
				}
				text = text[n:]
			}
			return true
		}
		all := strings.Join(tokenForms(), " and ")
		if len(req.Tools) > 0 && req.Cycle == 1 {
			_ = say(model.ChunkThinking, 0, "They gave me "+all) && say(model.ChunkText, 1, "I shall use "+all+".")
			for i, tool := range req.Tools {
				if !yield(model.Chunk{Kind: model.ChunkCall, Index: 2 + i, ID: fmt.Sprint("c", i), Text: tool.Name}, nil) ||
					!say(model.ChunkCallInput, 2+i, `{"q":"`+runToken+`"}`) {
					return
				}
			}
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		if strings.Contains(req.Messages[len(req.Messages)-1].Text(), "fail") {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModel, Message: "not with " + runToken, Err: fmt.Errorf("400: %s", runToken)})
			return
		}
		_ = say(model.ChunkText, 0, "It was "+all+".") && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// A run's tokens reach its tools and are nowhere afterwards, however tools and models repeat them: not in responses,
// streams, logs, spans, titles or files.
func TestNothingOfATokenIsLeft(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 7, 1000} {
		t.Run(fmt.Sprint("pieces of ", size), func(t *testing.T) {
			t.Parallel()
			p, _, _ := testProcess(t, nil)
			dir, err := p.DataDir()
			if err != nil {
				t.Fatal(err)
			}
			spans := tracetest.NewInMemoryExporter()
			tracer := trace.NewTracerProvider(trace.WithSyncer(spans))
			part, err := telemetry.Hooks(telemetry.Options{TracerProvider: tracer, Content: true})
			if err != nil {
				t.Fatal(err)
			}
			store := kept(t, p)
			rows, err := service.OpenRows(filepath.Join(dir, "service.db"))
			if err != nil {
				t.Fatal(err)
			}
			looked := 0
			look := func(where, what string) {
				t.Helper()
				looked++
				for _, trace := range tokenTraces {
					if i := strings.Index(what, trace); i >= 0 {
						t.Errorf("the token is in %s: …%.160s…", where, what[max(0, i-80):])
					}
				}
			}
			given := make(chan string, 10)
			all := strings.Join(tokenForms(), " ")
			agent := braid.New(printer.AgentName, gossip{size}, part, braid.Retries(braid.Retry{Attempts: 1}), braid.Offload(braid.Offloading{Over: 2000}),
				braid.AsTool(braid.New("child", gossip{size}), ""),
				braid.Func("look", "", func(ctx context.Context, in map[string]string) (map[string]any, error) {
					given <- tool.SecretOf(ctx, "github").Reveal()
					look("what a tool is called with", in["q"])
					tool.Progress(ctx, "with "+all)
					return map[string]any{"all": strings.Repeat(all+" ", 200), runToken: 1}, nil
				}),
				braid.Func("broken", "", func(context.Context, map[string]string) (string, error) {
					return "", &event.Error{Kind: event.ErrNotFound, Message: "no " + all, Err: fmt.Errorf("for %s", all)}
				}),
				braid.Func("panics", "", func(context.Context, map[string]string) (string, error) { panic(all) }))
			var lines bytes.Buffer
			log := slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
			s, err := service.New(service.Options{
				Journal: store, Rows: rows, Log: log, Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) { return agent, nil },
				OpenModel: func(context.Context, string, *service.OwnModel) (braid.Model, error) { return gossip{size}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			h, err := server.New(server.Options{Service: s, Token: secret.New("a-token-of-the-test"), Tenant: conf.Tenant, Log: log}, server.NewMetrics("test"))
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewServer(h)
			ask := func(method, path, body string, headers ...string) string {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer a-token-of-the-test")
				r.Header.Set("Content-Type", "application/json")
				for i := 0; i+1 < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				res, err := web.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				raw, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode >= 300 {
					t.Fatalf("%s %s: %s %s, %v", method, path, res.Status, raw, err)
				}
				look(method+" "+path, string(raw))
				return string(raw)
			}
			var made struct{ ID, Title string }
			if err := json.Unmarshal([]byte(ask("POST", "/v1/conversations", "{}")), &made); err != nil {
				t.Fatal(err)
			}
			at := "/v1/conversations/" + made.ID
			for _, say := range []string{"go on", "now fail"} {
				body, err := json.Marshal(map[string]any{"user_input": say, "tokens": map[string]string{"github": runToken}})
				if err != nil {
					t.Fatal(err)
				}
				shown := screenOf(ask("POST", at+"/runs", string(body), "Accept", "text/event-stream"))
				look("the pieces put together", shown)
				if say == "go on" && (!strings.Contains(shown, secret.Redacted) || <-given != runToken) {
					t.Errorf("the stream shows %.300q", shown)
				}
			}
			for _, path := range []string{at, at + "/events", at + "/export", at + "/runs", "/v1/conversations", "/metrics"} {
				ask("GET", path, "")
			}
			if err := s.Drain(context.Background()); err != nil {
				t.Error(err)
			}
			web.Client().CloseIdleConnections()
			web.Close()
			look("the server's log", lines.String())
			if !strings.Contains(lines.String(), "panic") {
				t.Errorf("the log does not say that a tool panicked: %s", lines.String())
			}
			for _, s := range spans.GetSpans() {
				look("a span", fmt.Sprintf("%s %v %v %v", s.Name, s.Attributes, s.Events, s.Status))
			}
			for _, c := range []io.Closer{rows, store} {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				raw, err := os.ReadFile(path)
				look("the file "+filepath.Base(path), string(raw))
				return err
			})
			if err != nil || looked < 30 {
				t.Errorf("%d places were looked into: %v", looked, err)
			}
		})
	}
}

// screenOf joins the pieces of a stream.
func screenOf(stream string) string {
	texts := map[string]string{}
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data:")
		if !ok {
			continue
		}
		var f map[string]any
		if json.Unmarshal([]byte(data), &f) != nil {
			continue
		}
		for _, name := range []string{"text", "thinking", "partial_json", "input_delta", "delta"} {
			if text, ok := f[name].(string); ok {
				texts[fmt.Sprint(f["type"], f["scope"], f["step"], f["block"], f["tool_use_id"], name)] += text
			}
		}
	}
	return fmt.Sprint(texts)
}
