package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model/cassette"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/telemetry"
)

// canary is the text that must be nowhere after a guardrail removed it.
const canary = "4111-1111-1111-1111"

// talkative is a model that repeats its input and the canary in every place: text in pieces, thinking, arguments,
// and error messages.
type talkative struct{}

func (talkative) Info() model.Info { return model.Info{Name: "test:talkative"} }

func (talkative) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last, results := req.Messages[len(req.Messages)-1], 0
		for _, b := range last.Content {
			if _, ok := b.(*event.ToolResult); ok {
				results++
			}
		}
		var list []model.Chunk
		switch said := last.Text(); {
		case strings.Contains(said, "fail"):
			list = []model.Chunk{{Kind: model.ChunkText, Text: "Your card " + canary}}
			for _, c := range list {
				if !yield(c, nil) {
					return
				}
			}
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModel, Message: "the provider knows nothing of " + canary, Hint: "not " + canary})
			return
		case results > 0 || req.Tools == nil:
			list = []model.Chunk{{Kind: model.ChunkText, Text: said + " The card is 4111-1111"}, {Kind: model.ChunkText, Text: "-1111-1111."}, {Kind: model.ChunkStop, Stop: event.StopEndTurn}}
		default:
			list = []model.Chunk{
				{Kind: model.ChunkThinking, Text: "They have " + canary},
				{Kind: model.ChunkText, Index: 1, Text: "I look for " + canary},
				{Kind: model.ChunkCall, Index: 2, ID: "c1", Text: "look"},
				{Kind: model.ChunkCallInput, Index: 2, Text: `{"card":"` + canary + `"}`},
				{Kind: model.ChunkCall, Index: 3, ID: "c2", Text: "broken"},
				{Kind: model.ChunkCallInput, Index: 3, Text: `{"card":"` + canary + `"}`},
				{Kind: model.ChunkCall, Index: 4, ID: "c3", Text: "child"},
				{Kind: model.ChunkCallInput, Index: 4, Text: `{"input":"what of ` + canary + `?"}`},
				{Kind: model.ChunkStop, Stop: event.StopToolUse},
			}
		}
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func noCards(_ context.Context, text string) (string, error) {
	return strings.ReplaceAll(text, canary, "[card]"), nil
}

type cardIn struct {
	Card string `json:"card"`
}

// guardedAgent returns an agent whose guardrail removes the canary, with telemetry of content.
func guardedAgent(model braid.Model, part braid.Part) *braid.Agent {
	return braid.New(printer.AgentName, model, part, braid.Guard("cards", noCards), braid.AsTool(braid.New("child", talkative{}), ""),
		braid.Retries(braid.Retry{Attempts: 2, Base: time.Millisecond, Exact: true}), braid.Offload(braid.Offloading{Over: 2000}),
		braid.Func("look", "", func(ctx context.Context, in cardIn) (map[string]any, error) {
			tool.Progress(ctx, "looking for "+canary)
			return map[string]any{"found": canary, "all": strings.Repeat(canary+" ", 500), "in": in.Card}, nil
		}),
		braid.Func("broken", "", func(context.Context, cardIn) (string, error) {
			return "", &event.Error{Kind: event.ErrNotFound, Message: "there is no " + canary, Hint: "not " + canary}
		}))
}

// aviary searches everything that it gets for the canary.
type aviary struct {
	*testing.T

	looked int
}

func (a *aviary) look(where string, what any) {
	a.Helper()
	var raw []byte
	switch what := what.(type) {
	case []byte:
		raw = what
	case string:
		raw = []byte(what)
	default:
		var err error
		if raw, err = json.Marshal(what); err != nil {
			a.Errorf("%s: %v", where, err)
		}
	}
	if len(raw) == 0 {
		a.Errorf("there is nothing in %s", where)
	}
	a.looked++
	if i := bytes.Index(raw, []byte(canary)); i >= 0 {
		a.Errorf("the canary is in %s: …%.160s…", where, raw[max(0, i-80):])
	}
}

// A text that guardrails remove from input and output is nowhere afterwards: not in the library's results, the
// server's responses and logs, spans, recordings, the command's output, or any byte of the files.
func TestNothingOfACanaryIsLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p, _, _ := testProcess(t, nil)
			dir, err := p.DataDir()
			if err != nil {
				t.Fatal(err)
			}
			a := &aviary{T: t}
			spans := tracetest.NewInMemoryExporter()
			tracer := trace.NewTracerProvider(trace.WithSyncer(spans))
			part, err := telemetry.Hooks(telemetry.Options{TracerProvider: tracer, Content: true})
			if err != nil {
				t.Fatal(err)
			}
			var store journal.Journal = &journal.Memory{}
			var rows service.Rows = &service.MemoryRows{}
			var shut []func() error
			if kind == "sqlite" {
				store = kept(t, p)
				file, err := service.OpenRows(filepath.Join(dir, "service.db"))
				if err != nil {
					t.Fatal(err)
				}
				rows, shut = file, append(shut, file.Close, store.(io.Closer).Close)
			}

			a.inTheLibrary(store, part)
			a.onTheServer(store, rows, part)

			if err := tracer.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			told := 0
			for _, s := range spans.GetSpans() {
				a.look("a span", fmt.Sprintf("%s %v %v %v", s.Name, s.Attributes, s.Events, s.Status))
				told += strings.Count(fmt.Sprint(s.Attributes), "[card]")
			}
			if told < 10 {
				t.Errorf("the spans hold content %d times", told)
			}
			for _, c := range shut {
				if err := c(); err != nil {
					t.Fatal(err)
				}
			}
			if kind == "sqlite" {
				a.inTheFolder(p, dir)
			}
			if a.looked < 100 {
				t.Errorf("only %d places were looked into", a.looked)
			}
		})
	}
}

// inTheLibrary talks to a recorded agent and checks all results.
func (a *aviary) inTheLibrary(store journal.Journal, part braid.Part) {
	t := a.T
	var tape bytes.Buffer
	recorded := cassette.Record(talkative{}, &tape, cassette.Redact(func(text string) string {
		text, _ = noCards(context.Background(), text)
		return text
	}))
	agent := guardedAgent(recorded, part)
	conv := braid.Open(store, "talk")
	for _, say := range []string{"My card is " + canary, "And " + canary + " again?", "Now fail."} {
		var r braid.Result
		for e, err := range agent.Stream(t.Context(), say, braid.In(conv), braid.Into(&r), braid.For(conf.Tenant, "")) {
			if err != nil {
				a.look("the error of a run", err.Error())
				continue
			}
			a.look("the stream", e)
		}
		a.look("the result", []any{r.Message, r.Partial, r.Questions, r.State})
		tree, err := r.Trace(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a.look("the trace", tree)
	}
	messages, err := conv.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.look("the view", messages)
	snapshot, err := conv.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.look("the snapshot", snapshot)
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		a.look("the log", e)
	}
	a.look("the recording", tape.Bytes())
}

// onTheServer does the same over HTTP.
func (a *aviary) onTheServer(store journal.Journal, rows service.Rows, part braid.Part) {
	t := a.T
	var lines bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := service.New(service.Options{
		Journal: store, Rows: rows, Log: log,
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return guardedAgent(talkative{}, part), nil
		},
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
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
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
		a.look(method+" "+path, raw)
		return string(raw)
	}
	var made struct{ ID, Title string }
	if err := json.Unmarshal([]byte(ask("POST", "/v1/conversations", "{}")), &made); err != nil {
		t.Fatal(err)
	}
	at := "/v1/conversations/" + made.ID
	for _, say := range []string{"My card is " + canary, "And " + canary + " again?", "Now fail."} {
		body, err := json.Marshal(map[string]any{"user_input": say})
		if err != nil {
			t.Fatal(err)
		}
		live := ask("POST", at+"/runs", string(body), "Accept", "text/event-stream")
		if !strings.Contains(live, "[card]") {
			t.Errorf("the live stream does not hold what stands instead: %.300s", live)
		}
	}
	for _, path := range []string{
		at, at + "/events", at + "/export", at + "/runs", "/v1/conversations", "/metrics", at + "/questions",
	} {
		ask("GET", path, "")
	}
	for _, after := range []string{"0", "3"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // a conversation's stream does not end
		a.replay(ctx, web, at+"/stream", after)
		cancel()
	}
	var list struct {
		Runs []struct{ ID string } `json:"runs"`
		Data []struct{ ID string } `json:"data"`
	}
	if err := json.Unmarshal([]byte(ask("GET", at+"/runs", "")), &list); err != nil {
		t.Fatal(err)
	}
	for _, r := range append(list.Runs, list.Data...) {
		ask("GET", at+"/runs/"+r.ID, "")
		if replay := ask("GET", at+"/runs/"+r.ID+"/stream", "", "Last-Event-ID", "0"); !strings.Contains(replay, "data:") {
			t.Errorf("the replay is %q", replay)
		}
	}
	if len(list.Runs)+len(list.Data) != 3 {
		t.Error("there are not three runs")
	}
	if err := json.Unmarshal([]byte(ask("GET", at, "")), &made); err != nil || !strings.Contains(made.Title, "[card]") {
		t.Errorf("the title is %q, %v", made.Title, err)
	}
	who := service.Principal{Tenant: conf.Tenant}
	fork, err := s.ForkConversation(t.Context(), who, made.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.look("a fork", fork.History)
	if err := s.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	web.Client().CloseIdleConnections()
	web.Close()
	a.look("the server's own log", lines.Bytes())
}

// replay reads an endless stream for a moment.
func (a *aviary) replay(ctx context.Context, web *httptest.Server, path, after string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+path, nil)
	if err != nil {
		a.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer a-token-of-the-test")
	r.Header.Set("Last-Event-ID", after)
	res, err := web.Client().Do(r)
	if err != nil {
		a.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body) // the deadline ends it
	a.look("GET "+path, raw)
}

// inTheFolder checks the command's output about the folder, and the folder's bytes.
func (a *aviary) inTheFolder(p *process, dir string) {
	t := a.T
	list, out, errs := again(p, "conversations", "--json")
	if code := list.run(t.Context()); code != 0 {
		t.Fatalf("conversations: %d, %s", code, errs)
	}
	a.look("braid conversations", out.String())
	ids := 0
	for line := range strings.Lines(out.String()) {
		var c struct{ ID string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		ids++
		for _, args := range [][]string{{"show", c.ID}, {"show", "--json", c.ID}, {"show", "--trace", c.ID}} {
			next, out, errs := again(p, args...)
			if code := next.run(t.Context()); code != 0 {
				if args[1] == "--trace" {
					continue
				}
				t.Errorf("%v: %d, %s", args, code, errs)
			}
			a.look(strings.Join(args[:2], " "), out.String()+errs.String())
		}
	}
	if ids < 2 {
		t.Errorf("%d conversations are listed", ids)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && len(raw) > 0 {
			files++
			a.look("the file "+filepath.Base(path), raw)
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files, %v", files, err)
	}
}
