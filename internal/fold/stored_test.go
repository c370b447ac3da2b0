package fold_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

// frozen are the logs of frozen journals, and all of a journal's in one conversation.
func frozen(t *testing.T) map[string][]*event.Event {
	t.Helper()
	files, err := filepath.Glob("../../test/frozen/testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string][]*event.Event{}
	for _, file := range files {
		logs := foldtest.FrozenLogs(t, file)
		for name, log := range logs {
			all[filepath.Base(file)+": "+name] = log
		}
		all[filepath.Base(file)] = foldtest.Joined(t, logs)
	}
	return all
}

func TestStoredFoldIsTheFoldOfTheWholeLogOfFrozenJournals(t *testing.T) {
	t.Parallel()
	compared := 0
	for name, log := range frozen(t) {
		n, err := foldtest.StoredFolds(log)
		if compared += n; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if compared < 20 {
		t.Errorf("only %d folds were compared", compared)
	}
}

// folded is what each version of stored folds makes of a log.
var folded = map[int]string{
	1: "dbd7b8668c4c58f5af35cc571e3af9671fd90662324caf2d40d438ba31309506",
}

// A stored fold of an earlier version of Braid is used while the version of stored folds is the same. So the version must
// rise when a log folds to something else.
func TestTheVersionOfStoredFoldsRisesWithWhatIsFolded(t *testing.T) {
	t.Parallel()
	sum := sha256.New()
	for _, log := range [][]*event.Event{frozen(t)["v0.1.tar.gz"], everyEnd()} {
		v := fold.New(nil)
		for n, e := range log {
			if v.Add(e); v.Stale {
				v = fold.New(log[:n+1])
			}
			if !v.Storable() {
				continue
			}
			s, ok := v.Store("c")
			if !ok {
				t.Fatal("not stored")
			}
			sum.Write(s.Head)
			for _, part := range s.Parts {
				sum.Write(part)
			}
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != folded[fold.StoredVersion] {
		t.Errorf("version %d folds logs to %s: raise StoredVersion and add it to the table", fold.StoredVersion, got)
	}
}

// everyEnd is a log with the texts that the fold itself puts into transcripts.
func everyEnd() []*event.Event {
	var log []*event.Event
	run := ""
	add := func(step string, body event.Body) {
		e := &event.Event{Body: body}
		e.Seq, e.Run, e.Author, e.Step, e.Time = int64(len(log)+1), run, "root", step, foldtest.Noon
		if step != "" {
			e.Cycle, e.Attempt = 1, 1
		}
		log = append(log, e)
	}
	text := func(s string) []event.Block { return []event.Block{&event.Text{Text: s}} }
	for _, end := range []*event.RunEnded{
		{Status: event.RunCompleted, Why: event.WhyEndTurn},
		{Status: event.RunCancelled, Why: event.WhyCancelled},
		{Status: event.RunCancelled, Why: event.WhyCancelled, Partial: "half"},
		{Status: event.RunFailed, Why: event.WhyFailed},
		{Status: event.RunFailed, Why: event.WhyFailed, Keep: true},
		{Status: event.RunCompleted, Why: event.WhyEndTurn},
	} {
		run = "run-" + string(rune('a'+len(log)))
		add("", &event.RunStarted{Agent: "root", Session: 1, Turn: len(log)})
		add("", &event.UserMessage{Content: text("question")})
		add("m1", &event.StepBegun{Step: event.StepModel, Model: "m"})
		if end.Status != event.RunCancelled {
			add("m1", &event.AssistantMessage{Stop: event.StopToolUse, Content: []event.Block{
				&event.ToolCall{ID: "c", Name: "pay"}, &event.UnknownBlock{Name: "server_tool_use", Raw: []byte(`{"kind":"server_tool_use","id":"s","name":"search"}`)},
			}})
			add("t1.0", &event.StepBegun{Step: event.StepTool, Call: "c", Tool: "pay", Effect: event.EffectUnsafe})
			add("", &event.StateChanged{Set: map[string]json.RawMessage{"own": json.RawMessage(`1`), "app:all": json.RawMessage(`2`)}})
			if end.Keep {
				add("t1.0", &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeInDoubt, Result: &event.ToolResult{Call: "c", Name: "pay"}})
			}
			add("", &event.Setup{Text: "You help.", Tools: []event.SetupTool{{Name: "pay", Schema: `{}`}}})
		}
		add("", end)
	}
	return log
}
