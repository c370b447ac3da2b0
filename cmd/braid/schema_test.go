package main

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/schemacheck/hostile"
	"github.com/braidrun/braid/model"
)

const cityForm = `{"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer"}},"required":["city","people"]}`

// --schema gives JSON of that form, on a terminal and in a pipe, from the flag or from a file.
func TestAnAnswerInAForm(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "city.json")
	if err := os.WriteFile(file, []byte(cityForm), 0o600); err != nil {
		t.Fatal(err)
	}
	type city struct {
		City   *string `json:"city"`
		People *int    `json:"people"`
	}
	for _, form := range []string{cityForm, file} {
		for _, how := range []string{"", "-q", "--json"} {
			args := []string{"run", "--model", "demo:assistant", "--schema", form, "Where?"}
			if how != "" {
				args = append(args[:1:1], append([]string{how}, args[1:]...)...)
			}
			p, out, errs := testProcess(t, nil, args...)
			if code := p.run(t.Context()); code != 0 {
				t.Fatalf("%s: %d, %s", how, code, errs)
			}
			answer := out.String()
			switch how {
			case "--json":
				var last struct{ Output json.RawMessage }
				lines := strings.Split(strings.TrimSpace(answer), "\n")
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
					t.Fatal(err)
				}
				answer = string(last.Output)
			case "":
				answer = answer[strings.LastIndex(answer, "\n{\n")+1:]
			}
			var got city
			if err := json.Unmarshal([]byte(answer), &got); err != nil || got.City == nil || got.People == nil {
				t.Errorf("%q: the answer is %q, %v", how, answer, err)
			}
		}
	}
	for _, wrong := range []string{`{"type":`, filepath.Join(t.TempDir(), "none.json"), `{"type":"objekt"}`} {
		p, _, errs := testProcess(t, nil, "run", "--schema", wrong, "Where?")
		if code := p.run(t.Context()); code != event.ErrInvalid.Info().Exit {
			t.Errorf("%s: %d, %s", wrong, code, errs)
		}
	}
	for _, s := range hostile.Schemas() {
		p, _, errs := testProcess(t, nil, "run", "--model", "demo:assistant", "--schema", s.Text, "Where?")
		if code := p.run(t.Context()); code != event.ErrInvalid.Info().Exit || !strings.Contains(errs.String(), "cannot be used") {
			t.Errorf("%s: %d, %s", s.Name, code, errs)
		}
	}
}

// showing is a model that answers with the number of its tools.
type showing struct{}

func (showing) Info() model.Info { return model.Info{Name: "test:shown"} }

func (showing) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var names []string
		for i := range req.Tools {
			names = append(names, req.Tools[i].Name)
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: strconv.Itoa(len(names)) + " " + strings.Join(names, " ")}, nil) &&
			yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// With many tools the model searches for those that it needs.
func TestManyToolsAreLookedFor(t *testing.T) {
	t.Parallel()
	for above, finds := range map[int]bool{20: true, 30: false, 0: false} {
		parts := contextParts(&conf.Settings{AgentSettings: conf.AgentSettings{ToolSearch: above}}, "", true)
		for i := range 25 {
			parts = append(parts, braid.Func("tool_"+strconv.Itoa(i), "Does it.", func(context.Context, struct{}) (string, error) { return "", nil }))
		}
		r, err := braid.New("a", showing{}, parts...).Run(t.Context(), "go")
		if err != nil || strings.Contains(r.Text(), "find_tools") != finds {
			t.Errorf("above %d the model is shown %s, %v", above, r.Text(), err)
		}
	}
}

// Approvals for a conversation are listed and revoked.
func TestAConversationsPermissions(t *testing.T) {
	t.Parallel()
	p, _, _ := testProcess(t, nil)
	store := kept(t, p)
	once := false
	agent := braid.New(printer.AgentName, caller{"wipe", &once}, braid.Permit(braid.Permissions{Ask: []string{"wipe"}}),
		braid.Func("wipe", "Wipes.", func(context.Context, struct{}) (string, error) { return "wiped", nil }))
	conv := braid.Open(store, "talk")
	r, err := agent.Run(t.Context(), "Wipe it.", braid.In(conv), braid.For(conf.Tenant, ""))
	if err != nil || len(r.Questions) != 1 {
		t.Fatal(r.Stop, err)
	}
	if err := conv.Answer(t.Context(), r.Questions[0].Token, event.Approval{Approved: true, Lasts: event.LastsConversation}); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Resume(t.Context(), conv); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args      []string
		code      int
		out, errs string
	}{
		{[]string{"--conversation", "latest"}, 0, "wipe\n", ""},
		{[]string{"--conversation", "talk", "--json"}, 0, `{"tool":"wipe"`, ""},
		{[]string{"forget", "other", "--conversation", "talk"}, event.ErrNotFound.Info().Exit, "", "nothing of that tool"},
		{[]string{"forget", "wipe", "--conversation", "talk"}, 0, "1 taken back", ""},
		{[]string{"--conversation", "talk"}, 0, "", "Nothing is allowed"},
		{[]string{"forget", "all", "--conversation", "talk"}, 0, "0 taken back", ""},
		{[]string{"forget", "--conversation", "talk"}, event.ErrInvalid.Info().Exit, "", "forget and a tool"},
		{[]string{"--conversation", "nobody"}, event.ErrNotFound.Info().Exit, "", "conversation"},
	} {
		next, out, errs := again(p, append([]string{"permissions"}, c.args...)...)
		if code := next.run(t.Context()); code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("%v: %d, %q, %q", c.args, code, out, errs)
		}
	}
}

// caller is a model that calls a tool once.
type caller struct {
	tool string
	done *bool
}

func (caller) Info() model.Info { return model.Info{Name: "test:caller"} }

func (c caller) Stream(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if !*c.done {
			*c.done = true
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c1", Text: c.tool}, nil) && yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "Done."}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}
