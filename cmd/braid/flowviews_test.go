package main

import (
	"bytes"
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/flow"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/adk"
	"github.com/braidrun/braid/wire/agentcore"
	"github.com/braidrun/braid/wire/agui"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/story"
)

// part is a model that answers after a time, or first calls a tool.
type part struct {
	name  string
	after time.Duration
	tool  string
	args  string
}

func (m *part) Info() model.Info { return model.Info{Name: "test:" + m.name} }

func (m *part) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	chunks := []model.Chunk{
		{Kind: model.ChunkText, Text: m.name + " "},
		{Kind: model.ChunkText, Text: "is done"},
		{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 10, Output: 3, Total: 13}},
		{Kind: model.ChunkStop, Stop: event.StopEndTurn},
	}
	if m.tool != "" && len(req.Messages) == 1 {
		chunks = []model.Chunk{
			{Kind: model.ChunkCall, ID: "c1", Text: m.tool},
			{Kind: model.ChunkCallInput, Text: m.args},
			{Kind: model.ChunkStop, Stop: event.StopToolUse},
		}
	}
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range chunks {
			time.Sleep(m.after)
			if !yield(c, nil) {
				return
			}
		}
	}
}

func parts(name string, after time.Duration) *braid.Agent {
	return braid.New(name, &part{name: name, after: after})
}

// flowRuns are the runs whose views are committed.
var flowRuns = map[string]func() *braid.Agent{
	"parallel": func() *braid.Agent {
		return flow.Parallel("both", flow.ParallelOptions{}, parts("weather", time.Millisecond), parts("news", 10*time.Millisecond))
	},
	"loop": func() *braid.Agent {
		return flow.Loop("polish", flow.LoopOptions{Max: 2}, parts("writer", time.Millisecond), parts("critic", time.Millisecond))
	},
	"transfer": func() *braid.Agent {
		lead := braid.New("lead", &part{
			name: "lead", after: time.Millisecond, tool: flow.TransferTool, args: `{"agent_name":"billing","message":"an invoice"}`,
		})
		return flow.Team(lead, flow.TeamOptions{}, flow.Sub{Agent: parts("billing", time.Millisecond), Description: "Bills."})
	},
	"transfer-in-a-sequence": func() *braid.Agent {
		lead := braid.New("lead", &part{
			name: "lead", after: time.Millisecond, tool: flow.TransferTool, args: `{"agent_name":"billing","message":"an invoice"}`,
		})
		team := flow.Team(lead, flow.TeamOptions{Control: flow.Once}, flow.Sub{Agent: parts("billing", time.Millisecond), Description: "Bills."})
		return flow.Sequence("desk", parts("greeter", time.Millisecond), team)
	},
}

// The wires and the trace show children, branches and transfers of flows.
func TestViewsOfFlows(t *testing.T) {
	t.Parallel()
	for name, made := range flowRuns {
		synctest.Test(t, func(t *testing.T) {
			var events []event.Event
			for e, err := range made().Stream(t.Context(), "go", braid.In(braid.Open(journal.NewMemory(journal.MemoryOptions{}), "c"))) {
				if err != nil {
					t.Fatal(name, err)
				}
				events = append(events, e)
			}
			got := viewsOf(events)
			file := filepath.Join("testdata", "flows", name+".txt")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// viewsOf are the views of a run, one after another.
func viewsOf(events []event.Event) []byte {
	var all bytes.Buffer
	run := events[0].Run
	for _, view := range []struct {
		name string
		enc  wire.Encoder
	}{
		{"native", native.Wire.Open(wire.Start{Conversation: "c", Run: run})},
		{"AG-UI", &agui.Encoder{Run: run, Thread: "t", ID: "mine"}},
		{"AgentCore", agentcore.Wire.Open(wire.Start{Conversation: "c", Run: run})},
		{"ADK", adk.Wire.Open(wire.Start{Conversation: "c", Run: run})},
	} {
		all.WriteString("-- " + view.name + " --\n")
		f := &wire.Feed{Encoder: view.enc}
		f.Story.Run = run
		for i := range events {
			all.Write(f.Append(nil, &events[i]))
		}
	}
	out := term.NewOutput(&all)
	screen := term.Screen{Width: term.PlainWidth}
	all.WriteString("-- run --\n")
	printAll(events, printer.NewTranscript(out, printer.Look{Screen: screen}))
	_ = out.Flush()
	all.WriteString("-- run on a server --\n")
	printAll(fromServer(events), printer.NewTranscript(out, printer.Look{Screen: screen}))
	_ = out.Flush()
	all.WriteString("-- trace --\n")
	printAll(events, printer.NewTracer(out, screen))
	_ = out.Flush()
	return bytes.ReplaceAll(all.Bytes(), []byte(run), []byte("RUN"))
}

// fromServer are the events that the frames of a server become.
func fromServer(events []event.Event) (list []event.Event) {
	enc := native.NewEncoder("c")
	var told story.Story
	var back translation
	for i := range events {
		if it := told.Add(&events[i]); it != nil {
			for _, f := range enc.Frames(it) {
				for _, e := range back.events(f) {
					list = append(list, *e)
				}
			}
		}
	}
	return list
}

// printAll prints a run.
func printAll(events []event.Event, p printer.Printer) {
	for i := range events {
		_ = p.Event(&events[i])
	}
	_ = p.End(&printer.Summary{})
}
