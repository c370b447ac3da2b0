package braid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

var update = flag.Bool("update", false, "write the runs in testdata anew")

// record writes all that there is to see of runs: each request of a model, each event and each result.
type record struct {
	*testing.T

	// mu is for two models at once.
	mu   sync.Mutex
	out  bytes.Buffer
	conv *braid.Conversation
}

func (r *record) line(what string, v any) {
	r.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		r.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.out, "%s %s\n", what, data)
}

// model returns a model that records its requests. It takes a second for the first piece of an answer, and
// another one for each of the others.
func (r *record) model(name string, list ...[]model.Chunk) *script {
	s := &script{}
	s.next = func(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
		time.Sleep(time.Duration(len(name)) * time.Millisecond) // two models at once take turns
		tools := []string{}
		for _, t := range req.Tools {
			tools = append(tools, t.Name+": "+t.Description)
		}
		r.line(name+" is asked", map[string]any{
			"instructions": req.Instructions, "tools": tools, "messages": req.Messages, "cycle": req.Cycle, "attempt": req.Attempt,
		})
		return func(yield func(model.Chunk, error) bool) {
			for _, c := range list[s.calls.Load()-1] {
				time.Sleep(time.Second)
				if !yield(c, nil) {
					return
				}
			}
		}
	}
	return s
}

// run records a run of the agent.
func (r *record) run(agent *braid.Agent, input string, opts ...braid.RunOption) (result braid.Result) {
	r.Helper()
	for e, err := range agent.Stream(r.Context(), input, append(opts, braid.In(r.conv), braid.Into(&result))...) {
		if err != nil {
			r.line("error", err.Error())
			continue
		}
		r.line("event", e)
		if e.Final() {
			r.line("it is", "final")
		}
	}
	result.Conversation = nil
	for i := range result.Questions {
		r.line("question", result.Questions[i].Prompt)
	}
	r.line("result", result)
	r.line("text", result.Text())
	return result
}

var randomID = regexp.MustCompile(`(run-|"[tT]oken":")[A-Z0-9]{26}`)

// numbered replaces random ids by numbers. The same id has the same number.
func numbered(lines []byte) []byte {
	known := map[string]int{}
	return randomID.ReplaceAllFunc(lines, func(id []byte) []byte {
		random := string(id[len(id)-26:])
		if known[random] == 0 {
			known[random] = len(known) + 1
		}
		return fmt.Appendf(nil, "%s%d", id[:len(id)-26], known[random])
	})
}

// calls is an answer with words and tool calls: name, arguments, name, arguments.
func calls(words string, pairs ...string) []model.Chunk {
	said := model.Chunk{Kind: model.ChunkText, Text: words, Index: len(pairs)}
	return append([]model.Chunk{{Kind: model.ChunkThinking, Text: "Hm.", Index: len(pairs) + 1}, said}, asksFor(pairs...)...)
}

// wholeRuns are the recorded runs.
var wholeRuns = map[string]func(*record){
	// Tools that succeed, fail, report progress and change the state; a second run of the same conversation.
	"tools": func(r *record) {
		const sum, ofRun braid.State[int] = "sum", braid.StateRun + "seen"
		agent := braid.New("calc", r.model("model", calls("Let me add.", "add", `{"a":3,"b":5}`, "fail", `{}`), calls("Once more.", "add", `{"a":1,"b":1}`),
			append([]model.Chunk{{Kind: model.ChunkText, Text: "3と5を"}}, says("足した結果は8です。")...), asksFor("add", `{"a":2,"b":2}`), says("4")),
			braid.Instructions("Be brief."), braid.Sequential(),
			braid.Func("add", "Adds two numbers.", func(ctx context.Context, in addIn) (int, error) {
				time.Sleep(time.Second)
				tool.Progress(ctx, "half of it")
				before, _, err := ofRun.Get(ctx)
				if err == nil {
					err = ofRun.Set(ctx, before+1)
				}
				return in.A + in.B, errors.Join(err, sum.Set(ctx, in.A+in.B))
			}),
			braid.Func("fail", "Fails.", func(context.Context, struct{}) (int, error) { return 0, errors.New("it is broken") }))
		r.run(agent, "3と5を足して")
		r.run(agent, "And 2 and 2?")
	},
	// A person's approval inside a tool, and a tool that ends the turn.
	"question": func(r *record) {
		agent := braid.New("desk", r.model("model", asksFor("refund", `{}`), asksFor("stop", `{}`)),
			braid.Func("refund", "Pays money back.", func(ctx context.Context, _ struct{}) (string, error) {
				ok, err := braid.Ask[bool](ctx, "Refund?")
				return fmt.Sprint("paid: ", ok), err
			}),
			braid.Func("stop", "Stops.", func(ctx context.Context, _ struct{}) (string, error) {
				tool.EndTurn(ctx)
				return "stopped", nil
			}))
		result := r.run(agent, "Refund me.")
		for _, q := range result.Questions {
			r.run(agent, "", braid.Answers(braid.Answer{Token: q.Token, Value: true, By: "ann"}))
		}
	},
	// Two agents at once below another one, each with a model of its own.
	"agents": func(r *record) {
		below := func(name, text string) *braid.Agent { return braid.New(name, r.model(name, says(text))) }
		r.run(braid.New("chief", r.model("chief", asksFor("left", `{"input":"go left"}`, "right", `{"input":"go right"}`), says("done")),
			braid.AsTool(below("left", "on the left"), "Goes left."), braid.AsTool(below("right", "on the right"), "Goes right."),
			braid.Limit(braid.Limits{Parallel: 1})), "Look around.")
	},
	// A model that fails for good.
	"failure": func(r *record) {
		r.run(braid.New("a", &script{next: func(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
			return failing(&event.Error{Kind: event.ErrModel, Message: "bad gateway"})
		}}), "hi")
	},
}

// Nothing that can be seen of a run changes unnoticed: what its models are asked, its events with their headers, and its
// result. Time is simulated, so that it counts.
func TestWholeRuns(t *testing.T) {
	t.Parallel()
	for name, play := range wholeRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []byte
			synctest.Test(t, func(t *testing.T) {
				r := &record{T: t, conv: braid.Open(journal.NewMemory(journal.MemoryOptions{}), "c")}
				play(r)
				got = numbered(r.out.Bytes())
			})
			file := filepath.Join("testdata", "runs", name+".txt")
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
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
