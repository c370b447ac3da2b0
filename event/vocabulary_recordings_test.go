package event_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// The recordings of the Claude program 2.1.329 (fixtures/claude-stream-json).
// The copies under testdata make the test independent of anything else; with
// BRAID_FIXTURES set to the folder of the originals, they are checked too.
const recordingsDir = "testdata/vocabulary"

// recording is one file, read to its end.
type recording struct {
	*claudeReader
	name   string
	dialog bool
	lines  []recordedLine
	// inFlight are the steps that no line ends, unfinished the run.
	inFlight   []string
	unfinished string
}

type recordedLine struct {
	host bool
	data []byte
}

func recordingNames(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(recordingsDir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(p), ".jsonl")
	}
	return names
}

// readRecording maps every line of a file, and fails for one that it cannot.
func readRecording(t *testing.T, name string) *recording {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recordingsDir, name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording{
		name: name, dialog: strings.HasSuffix(name, ".dialog"),
		claudeReader: newClaudeReader(bytes.Contains(data, []byte(`"hook_event_name":"PreToolUse"`))),
	}
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 1<<20)
	for n := 1; scan.Scan(); n++ {
		l := recordedLine{data: bytes.Clone(scan.Bytes())}
		if rec.dialog {
			var d struct {
				Dir  string          `json:"dir"`
				Line json.RawMessage `json:"line"`
			}
			if err := json.Unmarshal(l.data, &d); err != nil {
				t.Fatalf("%s:%d: %v", name, n, err)
			}
			l.host, l.data = d.Dir == "host->cli", d.Line
		}
		rec.lines = append(rec.lines, l)
		if err := rec.line(l.host, l.data); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	rec.eof()
	return rec
}

// Every line of every recording is mapped, or on the closed list with its
// reason; and what came of it is a log that a journal and a reader can take.
func TestVocabularyRecordings(t *testing.T) {
	t.Parallel()
	names := recordingNames(t)
	if len(names) != 73 {
		t.Errorf("%d recordings, want 73", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := readRecording(t, name)
			isStored(t, r.events)
			r.isDense(t)
			r.pairsSteps(t)
			r.pairsScopes(t)
			r.pairsRuns(t)
			r.repeatsWhatWasStreamed(t)
			r.accountsForEveryToken(t)
		})
	}
}

// isDense: durable events are numbered from 1 without a gap, live ones by
// epoch and N; every event names its log and has a body.
func (r *recording) isDense(t *testing.T) {
	t.Helper()
	var seq, n int64
	for i := range r.events {
		e := &r.events[i]
		if e.Live() {
			n++
			if e.Seq != 0 || e.Epoch != 1 || e.N != n {
				t.Errorf("live event %d is numbered %d, %d.%d", i, e.Seq, e.Epoch, e.N)
			}
		} else {
			seq++
			if e.Seq != seq || e.N != 0 {
				t.Errorf("durable event %d is numbered %d, want %d", i, e.Seq, seq)
			}
		}
		if e.Conversation == "" && len(r.events) > 1 {
			t.Errorf("%s names no conversation", showEvent(*e))
		}
	}
}

// pairsSteps: what ends has begun with that attempt, and ends once. A step that
// is open at the end of the file was in flight when the process died.
func (r *recording) pairsSteps(t *testing.T) {
	t.Helper()
	type step struct {
		run, step string
	}
	open, over, runs := map[step]int{}, map[step]bool{}, map[step]bool{}
	for _, e := range r.events {
		s := step{e.Run, e.Step}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if open[s] >= e.Attempt || over[s] {
				t.Errorf("attempt %d of %s begins after attempt %d", e.Attempt, e.Step, open[s])
			}
			open[s], runs[s] = e.Attempt, true
		case *event.AssistantMessage:
			if open[s] != e.Attempt || e.Attempt == 0 || over[s] {
				t.Errorf("a message of %s, attempt %d, which is not open", e.Step, e.Attempt)
			}
			if b.Response == "" {
				t.Errorf("the message of %s does not name the provider's answer", e.Step)
			}
			over[s], runs[s] = !b.Piece, b.Piece
		case *event.StepEnded:
			if open[s] != e.Attempt || e.Attempt == 0 || over[s] {
				t.Errorf("%s ends with attempt %d, which is not open", e.Step, e.Attempt)
			}
			over[s] = b.Outcome != event.OutcomeFailed // a failed model call may be tried again
			delete(runs, s)
		}
	}
	for s, still := range runs {
		if still {
			r.inFlight = append(r.inFlight, s.step)
		}
	}
}

// pairsScopes: a scope is opened once and closed once, and everything that
// happens in it happens between.
func (r *recording) pairsScopes(t *testing.T) {
	t.Helper()
	open := map[string]bool{"": true}
	for _, e := range r.events {
		if !open[e.Scope] {
			t.Errorf("%s in the scope %q, which is not open", e.Body.Kind(), e.Scope)
		}
		switch b := e.Body.(type) {
		case *event.ScopeOpened:
			if open[b.ID] {
				t.Errorf("scope %s is opened twice", b.ID)
			}
			open[b.ID] = true
		case *event.ScopeClosed:
			if !open[b.ID] {
				t.Errorf("scope %s is closed and not open", b.ID)
			}
			delete(open, b.ID)
		}
	}
	if len(open) != 1 {
		t.Errorf("%d scopes stay open", len(open)-1)
	}
}

// pairsRuns: runs follow one another, and what happens in a run carries its id.
func (r *recording) pairsRuns(t *testing.T) {
	t.Helper()
	run, turn := "", 0
	for _, e := range r.events {
		switch b := e.Body.(type) {
		case *event.RunStarted:
			turn++
			if run != "" || b.Turn != turn || e.Run == "" {
				t.Errorf("run %q, turn %d, starts while %q is open", e.Run, b.Turn, run)
			}
			run = e.Run
		case *event.RunEnded:
			if run == "" || e.Run != run {
				t.Errorf("run %q ends while %q is open", e.Run, run)
			}
			run = ""
			continue
		}
		if e.Run != run {
			t.Errorf("%s of run %q while %q is open", e.Body.Kind(), e.Run, run)
		}
	}
	r.unfinished = run
}

// repeatsWhatWasStreamed: the pieces of an answer hold what its deltas said.
func (r *recording) repeatsWhatWasStreamed(t *testing.T) {
	t.Helper()
	type answer struct {
		step    string
		attempt int
	}
	streamed, said := map[answer]string{}, map[answer]string{}
	for _, e := range r.events {
		a := answer{e.Step, e.Attempt}
		switch b := e.Body.(type) {
		case *event.TextDelta:
			streamed[a] += b.Text
		case *event.ThinkingDelta:
			streamed[a] += b.Text
		case *event.ToolInputDelta:
			streamed[a] += b.JSON
		case *event.StepEnded:
			if b.Outcome == event.OutcomeFailed {
				delete(streamed, a) // its text is taken back
			}
		case *event.AssistantMessage:
			for _, block := range b.Content {
				switch block := block.(type) {
				case *event.Text:
					said[a] += block.Text
				case *event.Thinking:
					said[a] += block.Text
				case *event.ToolCall:
					said[a] += string(block.Args)
				}
			}
		}
	}
	for a, s := range streamed {
		if strip(s) != strip(said[a]) {
			t.Errorf("%s streamed %q and said %q", a.step, s, said[a])
		}
	}
}

// strip takes the space out: the program streams a call's input indented.
func strip(s string) string { return strings.Join(strings.Fields(s), "") }

// usedBefore is what the totals of a resumed session bring along: they count the
// session and not the process, so only the differences are a run's own.
var usedBefore = map[string]event.Usage{
	"50-resume.stdout":      {Input: 111, Output: 22, CacheRead: 7, CacheWrite: 5, Total: 145},
	"51-resume-fork.stdout": {Input: 322, Output: 55, CacheRead: 7, CacheWrite: 5, Total: 389},
}

// accountsForEveryToken: a run's usage is the sum over its models, and all
// runs of the session come to what its last result says in total.
func (r *recording) accountsForEveryToken(t *testing.T) {
	t.Helper()
	total := map[string]event.Usage{}
	for _, e := range r.events {
		b, ok := e.Body.(*event.RunEnded)
		if !ok {
			continue
		}
		var sum event.Usage
		for _, m := range b.Models {
			sum = sum.Add(m.Usage)
			total[m.Model] = total[m.Model].Add(m.Usage)
		}
		if sum != b.Usage {
			t.Errorf("the models of %s used %+v, the run %+v", e.Run, sum, b.Usage)
		}
	}
	for i := len(r.lines) - 1; i >= 0; i-- {
		var l claudeLine
		if r.lines[i].host || json.Unmarshal(r.lines[i].data, &l) != nil || l.Type != "result" {
			continue
		}
		for model, u := range l.Models {
			if ours := total[model].Add(usedBefore[r.name]); ours != u.ours() {
				t.Errorf("%s used %+v by our account, %+v by the program's", model, ours, u.ours())
			}
		}
		if len(total) != len(l.Models) {
			t.Errorf("%d models used something by our account, %d by the program's", len(total), len(l.Models))
		}
		return
	}
}

// How each recording ends. The rest ends well, by itself, in one run.
var recordingEnds = map[string]struct {
	status event.RunStatus
	stop   event.StopReason
	kind   event.ErrorKind
}{
	"09-error-400":                 {event.RunFailed, event.StopSequence, event.ErrModel},
	"09-error-401":                 {event.RunFailed, event.StopSequence, event.ErrModelAuth},
	"09-error-404":                 {event.RunFailed, event.StopSequence, event.ErrModelNotFound},
	"09-error-429":                 {event.RunFailed, event.StopSequence, event.ErrThrottled},
	"09-error-500":                 {event.RunFailed, event.StopSequence, event.ErrModel},
	"09-error-529":                 {event.RunFailed, event.StopSequence, event.ErrOverloaded},
	"13-prompt-too-long":           {event.RunFailed, event.StopContextOverflow, event.ErrContextOverflow},
	"15-interrupt-tool":            {event.RunCancelled, event.StopCancelled, event.ErrCancelled},
	"16-sigint":                    {event.RunCancelled, event.StopCancelled, event.ErrCancelled},
	"18-max-turns":                 {event.RunCompleted, event.StopLimitCycles, event.ErrLimit},
	"19-max-budget":                {event.RunCompleted, event.StopLimitCost, event.ErrLimit},
	"22-permission-deny-interrupt": {event.RunCancelled, event.StopCancelled, event.ErrCancelled},
	"27-structured-output":         {event.RunCompleted, event.StopToolUse, ""},
	"31-resume-unknown":            {event.RunFailed, event.StopError, event.ErrModel},
	"32-max-tokens":                {event.RunFailed, event.StopMaxTokens, event.ErrMaxTokens},
	"33-refusal":                   {event.RunFailed, event.StopRefusal, event.ErrModel},
	"42-bedrock-throttled":         {event.RunFailed, event.StopSequence, event.ErrThrottled},
	"43-bedrock-access-denied":     {event.RunFailed, event.StopSequence, event.ErrModelAuth},
	"58-interrupt-subagents":       {event.RunCancelled, event.StopCancelled, event.ErrCancelled},
}

func TestVocabularyRecordingsEnd(t *testing.T) {
	t.Parallel()
	for _, name := range recordingNames(t) {
		r := readRecording(t, name)
		short, _, _ := strings.Cut(name, ".")
		want, odd := recordingEnds[short]
		if !odd {
			want.status, want.stop = event.RunCompleted, event.StopEndTurn
		}
		var ends []*event.RunEnded
		for _, e := range r.events {
			if b, ok := e.Body.(*event.RunEnded); ok {
				ends = append(ends, b)
			}
		}
		// The process was killed in the middle of a tool.
		if killed := short == "17-sigterm-tool" || short == "54-kill"; killed {
			if len(ends) != 0 {
				t.Errorf("%s: a killed process ended its run", name)
			}
			continue
		}
		// Several prompts in one process.
		runs := map[string]int{"14-interrupt-text": 2, "26-controls-two-turns": 2, "29-compact": 4}[short]
		if len(ends) != max(runs, 1) {
			t.Errorf("%s: %d runs ended", name, len(ends))
			continue
		}
		if short == "14-interrupt-text" {
			first := ends[0]
			if first.Status != event.RunCancelled || first.Stop != event.StopCancelled || !errors.Is(first.Err, event.ErrCancelled) {
				t.Errorf("%s: the interrupted run ended %s", name, showValue(reflect.ValueOf(first)))
			}
		}
		last := ends[len(ends)-1]
		kind := event.ErrorKind("")
		if last.Err != nil {
			kind = last.Err.Kind
			if last.Err.Message == "" {
				t.Errorf("%s: the error has no message", name)
			}
		}
		if last.Status != want.status || last.Stop != want.stop || kind != want.kind {
			t.Errorf("%s ended %s %s %q, want %s %s %q", name, last.Status, last.Stop, kind, want.status, want.stop, want.kind)
		}
	}
}

// A result with is_error true is never a run that completed without an error,
// whatever its subtype says: API failures arrive as "success".
func TestVocabularyRecordingsErrors(t *testing.T) {
	t.Parallel()
	failures := 0
	for _, name := range recordingNames(t) {
		r := readRecording(t, name)
		var bad int
		for _, l := range r.lines {
			var c claudeLine
			if err := json.Unmarshal(l.data, &c); err != nil {
				t.Fatal(err)
			}
			if c.Type == "result" && c.IsError {
				bad++
				if c.Subtype == "success" {
					failures++
				}
			}
		}
		for _, e := range r.events {
			if b, ok := e.Body.(*event.RunEnded); ok && b.Err != nil {
				bad--
				limit := errors.Is(b.Err, event.ErrLimit)
				if (b.Status == event.RunCompleted) != limit {
					t.Errorf("%s: %s beside %q", name, b.Status, b.Err.Kind)
				}
			}
		}
		if bad != 0 {
			t.Errorf("%s: %d results with is_error have no error of ours", name, bad)
		}
	}
	if failures != 11 {
		t.Errorf("%d failures arrived as success, want 11", failures)
	}
}

// One reply, two calls: each in a line of its own, under one message id.
func TestVocabularyRecording02ParallelCalls(t *testing.T) {
	t.Parallel()
	r := readRecording(t, "02-tools.stdout")
	steps := map[string]string{}
	failed := false
	for _, e := range r.events {
		switch b := e.Body.(type) {
		case *event.AssistantMessage:
			for _, c := range event.CallsOf(b.Content) {
				if !b.Piece || b.Response != "msg_000000000000000000000006" && c.ID != "toolu_bash_1" {
					t.Errorf("%s stands in %s", c.ID, showEvent(e))
				}
				steps[c.ID] = e.Step
			}
		case *event.StepEnded:
			if b.Result != nil && b.Result.Call == "toolu_bash_2" {
				failed = b.Result.IsError && event.TextOf(b.Result.Content) == "Exit code 3" && b.Outcome == event.OutcomeDone
			}
		}
	}
	if steps["toolu_read_1"] == "" || steps["toolu_read_1"] != steps["toolu_bash_2"] || steps["toolu_bash_1"] == steps["toolu_bash_2"] {
		t.Errorf("the calls belong to the answers %v", steps)
	}
	if !failed {
		t.Error("the failing command is not an error result of a finished step")
	}
}

// The receipts and the notification report only the usage of a sub-agent's last model call. Costs need the sum of all
// calls.
func TestVocabularyRecording04SubAgentUsage(t *testing.T) {
	t.Parallel()
	r := readRecording(t, "04-subagents.stdout")
	type tokens struct{ in, out int64 }
	receipts, notified := map[string]tokens{}, map[string]int64{}
	var main tokens
	for _, l := range r.lines {
		var c claudeLine
		if err := json.Unmarshal(l.data, &c); err != nil {
			t.Fatal(err)
		}
		var u claudeUsage
		switch {
		case c.Type == "result":
			if err := json.Unmarshal(c.Usage, &u); err != nil {
				t.Fatal(err)
			}
			main = tokens{u.Input, u.Output}
		case c.Subtype == "task_notification":
			var n struct {
				Total int64 `json:"total_tokens"`
			}
			if err := json.Unmarshal(c.Usage, &n); err != nil {
				t.Fatal(err)
			}
			notified[c.Call] = n.Total
		case c.Type == "user" && c.ParentCall == "" && c.ToolResult != nil:
			var receipt struct {
				Agent string      `json:"agentId"`
				Usage claudeUsage `json:"usage"`
			}
			if err := json.Unmarshal(c.ToolResult, &receipt); err != nil {
				t.Fatal(err)
			}
			receipts[receipt.Agent] = tokens{receipt.Usage.Input, receipt.Usage.Output}
		}
	}
	var ended *event.RunEnded
	scopes := map[string]string{} // by call
	for _, e := range r.events {
		switch b := e.Body.(type) {
		case *event.RunEnded:
			ended = b
		case *event.ScopeOpened:
			scopes[b.Call] = b.ID
		}
	}
	if len(ended.Models) != 2 || len(scopes) != 2 {
		t.Fatalf("%d models and %d scopes", len(ended.Models), len(scopes))
	}
	haiku, sonnet := ended.Models[0], ended.Models[1]
	if haiku.Model != "claude-haiku-5-5" || haiku.Usage.Input != 1806 || haiku.Usage.Output != 186 {
		t.Errorf("the sub-agents' model used %+v", haiku)
	}
	if main != (tokens{2205, 125}) || sonnet.Usage.Input != main.in || sonnet.Usage.Output != main.out {
		t.Errorf("the main model used %+v, the result's own usage says %v", sonnet, main)
	}
	a, b := receipts[scopes["toolu_task_a"]], receipts[scopes["toolu_task_b"]]
	if b != (tokens{703, 73}) || a != (tokens{602, 62}) {
		t.Errorf("the receipts say %v and %v", a, b)
	}
	// B made one call, so its receipt is right, and the rest of the model is A's.
	if trueA := (tokens{haiku.Usage.Input - b.in, haiku.Usage.Output - b.out}); trueA != (tokens{1103, 113}) {
		t.Errorf("sub-agent A used %v", trueA)
	}
	if notified["toolu_task_a"] != a.in+a.out {
		t.Errorf("the notification says %d, which is not the last call's %v", notified["toolu_task_a"], a)
	}
}

// Background sub-agents outlive the answer that asked for them: several turns
// of the program are one run of ours.
func TestVocabularyRecordingsBackground(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string]int{
		"07-subagents-background.stdout": 3, "35-subagents-bg-unset.stdout": 3, "34-custom-agent.stdout": 2,
	} {
		r := readRecording(t, name)
		var inits, results, receipts int
		for _, e := range r.events {
			switch b := e.Body.(type) {
			case *event.RunStarted:
				inits++
			case *event.RunEnded:
				results++
			case *event.Notice:
				switch b.Code {
				case "turn_started":
					inits++
				case "turn_ended":
					results++
				}
			case *event.ScopeOpened:
				if !b.Background {
					t.Errorf("%s: %s is not in the background", name, b.ID)
				}
			case *event.StepEnded:
				if b.Result != nil && b.Result.Name != "Bash" {
					receipts++
				}
			}
		}
		if inits != turns || results != turns {
			t.Errorf("%s: %d turns began and %d ended, want %d", name, inits, results, turns)
		}
		if receipts == 0 {
			t.Errorf("%s: no receipt", name)
		}
	}
}

// What was in flight when the process died stays open, and only that.
func TestVocabularyRecordingsInFlight(t *testing.T) {
	t.Parallel()
	for _, name := range recordingNames(t) {
		r := readRecording(t, name)
		r.pairsSteps(t)
		r.pairsRuns(t)
		var want []string
		unfinished := ""
		switch name {
		case "54-kill.stdout":
			want, unfinished = []string{"model-1", "toolu_slow"}, "run-1"
		case "17-sigterm-tool.stdout": // the tool was killed first, and its end told
			want, unfinished = []string{"model-1"}, "run-1"
		case "19-max-budget.stdout": // the budget was over before the call could run
			want = []string{"toolu_000000000000000000000110"}
		case "58-interrupt-subagents.dialog", "58-interrupt-subagents.stdout":
			want = []string{"toolu_la", "toolu_lb"} // killed with their scopes
		}
		slices.Sort(r.inFlight)
		if !slices.Equal(r.inFlight, want) || r.unfinished != unfinished {
			t.Errorf("%s: in flight %v in %q, want %v in %q", name, r.inFlight, r.unfinished, want, unfinished)
		}
	}
}

// A permission asked, answered with other arguments, and run.
func TestVocabularyRecordingsPermission(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		approval event.Approval
		kind     event.ErrorKind
	}{
		"20-permission-allow.dialog": {event.Approval{
			Approved: true,
			Args:     json.RawMessage(`{"command":"touch rewritten.txt && ls rewritten.txt","description":"rewritten by host"}`),
		}, ""},
		"21-permission-deny.dialog": {
			event.Approval{Reason: "Tenant policy does not allow this command."}, event.ErrPermission,
		},
		"22-permission-deny-interrupt.dialog": {
			event.Approval{Reason: "Stop now.", Stop: true}, event.ErrPermission,
		},
	} {
		r := readRecording(t, name)
		var order []event.Kind
		var asked *event.Asked
		for _, e := range r.events {
			if e.Step != "toolu_p1" {
				continue
			}
			order = append(order, e.Body.Kind())
			switch b := e.Body.(type) {
			case *event.Asked:
				asked = b
				if b.Ask != event.AskApproval || b.Tool != "Bash" || b.Call != "toolu_p1" ||
					string(b.Args) != `{"command":"touch allowed.txt","description":"allowed one"}` {
					t.Errorf("%s: asked %s", name, showEvent(e))
				}
			case *event.Answered:
				var got event.Approval
				if err := json.Unmarshal(b.Value, &got); err != nil || !reflect.DeepEqual(got, want.approval) || b.Token != asked.Token {
					t.Errorf("%s: answered %s, %v", name, showEvent(e), err)
				}
			case *event.StepEnded:
				kind := event.ErrorKind("")
				if b.Err != nil {
					kind = b.Err.Kind
				}
				if kind != want.kind || b.Result.IsError != (kind != "") || e.Attempt != 2 {
					t.Errorf("%s: ended %s", name, showEvent(e))
				}
			}
		}
		if !slices.Equal(order, []event.Kind{"step_begun", "asked", "answered", "step_begun", "step_ended"}) {
			t.Errorf("%s: the call's events are %v", name, order)
		}
	}
}

// The rest that the anchors state of single recordings.
func TestVocabularyRecordingsInDetail(t *testing.T) {
	t.Parallel()
	find := func(t *testing.T, name string, is func(event.Event) bool) event.Event {
		t.Helper()
		for _, e := range readRecording(t, name).events {
			if is(e) {
				return e
			}
		}
		t.Errorf("%s: no such event", name)
		return event.Event{Body: &event.Unknown{}}
	}
	t.Run("08 shows which servers are there", func(t *testing.T) {
		t.Parallel()
		e := find(t, "08-mcp.stdout", func(e event.Event) bool { return e.Body.Kind() == event.KindRunStarted })
		status := map[string]int{}
		for _, s := range e.Body.(*event.RunStarted).Servers {
			status[s.Status]++
		}
		if status["connected"] == 0 || len(status) < 2 {
			t.Errorf("servers %v", status)
		}
	})
	t.Run("14 keeps the text of an interrupted answer", func(t *testing.T) {
		t.Parallel()
		find(t, "14-interrupt-text.dialog", func(e event.Event) bool {
			b, ok := e.Body.(*event.AssistantMessage)
			return ok && b.Piece && event.TextOf(b.Content) == "This is a very slow answer that keep"
		})
		find(t, "14-interrupt-text.dialog", func(e event.Event) bool {
			b, ok := e.Body.(*event.AssistantMessage)
			return ok && !b.Piece && b.Stop == event.StopCancelled
		})
	})
	t.Run("15 cancels the tool that ran", func(t *testing.T) {
		t.Parallel()
		find(t, "15-interrupt-tool.dialog", func(e event.Event) bool {
			b, ok := e.Body.(*event.StepEnded)
			return ok && b.Outcome == event.OutcomeCancelled && b.Result.Call == "toolu_slow"
		})
	})
	t.Run("23 denies without asking", func(t *testing.T) {
		t.Parallel()
		find(t, "23-permission-none.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.StepEnded)
			return ok && errors.Is(b.Err, event.ErrPermission) && b.Result.IsError
		})
	})
	t.Run("24 knows the usage of each answer", func(t *testing.T) {
		t.Parallel()
		var sum event.Usage
		var ended *event.RunEnded
		for _, e := range readRecording(t, "24-partial.stdout").events {
			switch b := e.Body.(type) {
			case *event.AssistantMessage:
				sum = sum.Add(b.Usage)
			case *event.RunEnded:
				ended = b
			}
		}
		if sum != ended.Usage || sum.Output != 60 {
			t.Errorf("the answers used %+v, the run %+v", sum, ended.Usage)
		}
	})
	t.Run("25 begins and ends the steps with hooks", func(t *testing.T) {
		t.Parallel()
		find(t, "25-hooks-and-sdk-mcp.dialog", func(e event.Event) bool {
			b, ok := e.Body.(*event.StepEnded)
			return ok && b.Duration == 4*time.Millisecond && string(b.Result.Structured) == `[{"type":"text","text":"3"}]`
		})
	})
	t.Run("26 renames the session", func(t *testing.T) {
		t.Parallel()
		find(t, "26-controls-two-turns.dialog", func(e event.Event) bool {
			b, ok := e.Body.(*event.Notice)
			return ok && b.Code == "session_title_changed" && b.Text == "My title"
		})
	})
	t.Run("27 has a structured output", func(t *testing.T) {
		t.Parallel()
		find(t, "27-structured-output.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.RunEnded)
			return ok && string(b.Output) == `{"answer":42,"reason":"because"}`
		})
	})
	t.Run("28 falls back to another model", func(t *testing.T) {
		t.Parallel()
		find(t, "28-fallback-model.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.Notice)
			return ok && b.Code == "model_fallback" && strings.Contains(string(b.Data), "claude-haiku-4-5")
		})
		find(t, "28-fallback-model.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.AssistantMessage)
			return ok && b.Model == "claude-haiku-4-5"
		})
	})
	t.Run("29 replaces what was said by a summary", func(t *testing.T) {
		t.Parallel()
		e := find(t, "29-compact.dialog", func(e event.Event) bool { return e.Body.Kind() == event.KindCompacted })
		c := e.Body.(*event.Compacted)
		if c.From != 1 || c.To >= e.Seq || c.To < 5 || c.Trigger != "manual" ||
			!strings.HasPrefix(event.TextOf(c.Summary), "This session is being continued") {
			t.Errorf("compacted %s", showEvent(e))
		}
	})
	t.Run("32 and 33 hide the program's own words", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]int{"32-max-tokens.stdout": 3, "33-refusal.stdout": 1, "57-skill.stdout": 1} {
			n := 0
			for _, e := range readRecording(t, name).events {
				if _, ok := e.Body.(*event.UserMessage); ok {
					n++
					if e.Audience != event.Operator || e.Author == event.UserAuthor {
						t.Errorf("%s: a client sees %s", name, showEvent(e))
					}
				}
			}
			if n != want {
				t.Errorf("%s: %d messages of the program to its model, want %d", name, n, want)
			}
		}
	})
	t.Run("58 closes the scopes that were cancelled", func(t *testing.T) {
		t.Parallel()
		n := 0
		for _, e := range readRecording(t, "58-interrupt-subagents.dialog").events {
			if b, ok := e.Body.(*event.ScopeClosed); ok && b.Stop == event.StopCancelled && b.Why == event.WhyCancelled {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%d scopes were cancelled, want 2", n)
		}
	})
	t.Run("59 fails the scope and not the run", func(t *testing.T) {
		t.Parallel()
		find(t, "59-subagent-error.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.ScopeClosed)
			return ok && errors.Is(b.Err, event.ErrModel) && b.Why == event.WhyFailed
		})
	})
	t.Run("60 tries a broken answer again", func(t *testing.T) {
		t.Parallel()
		find(t, "60-stream-error-partial.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.StepEnded)
			return ok && e.Attempt == 1 && errors.Is(b.Err, event.ErrStreamCut) && b.UsageUnknown
		})
		find(t, "60-stream-error-partial.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.StepBegun)
			return ok && e.Attempt == 2 && b.Why == event.WhyRetry
		})
	})
	t.Run("retries are told of", func(t *testing.T) {
		t.Parallel()
		find(t, "12-stream-cut.stdout", func(e event.Event) bool {
			b, ok := e.Body.(*event.Notice)
			return ok && b.Code == "api_retry" && strings.Contains(string(b.Data), `"retry_delay_ms":500`)
		})
	})
}

// task_updated says nothing because a task_notification of the same task always
// follows; if one day it does not, this fails.
func TestVocabularyRecordingsTaskUpdates(t *testing.T) {
	t.Parallel()
	for _, name := range recordingNames(t) {
		waiting := map[string]bool{}
		for _, l := range readRecording(t, name).lines {
			var c claudeLine
			if err := json.Unmarshal(l.data, &c); err != nil {
				t.Fatal(err)
			}
			switch c.Subtype {
			case "task_updated":
				waiting[c.Task] = true
			case "task_notification":
				delete(waiting, c.Task)
			}
		}
		if len(waiting) > 0 {
			t.Errorf("%s: %d updates without a notification", name, len(waiting))
		}
	}
}

// Every terminal_reason and every error word of the program's type declarations
// has a meaning here, and one that is not declared does no harm.
func TestVocabularyClaudeReasons(t *testing.T) {
	t.Parallel()
	if len(claudeEnds) != 19 || len(claudeErrors) != 13 {
		t.Errorf("%d terminal reasons and %d error words, want 19 and 13", len(claudeEnds), len(claudeErrors))
	}
	r := newClaudeReader(false)
	for reason, end := range claudeEnds {
		l := &claudeLine{Terminal: reason, Stop: "end_turn", IsError: end.status == event.RunFailed}
		got := r.runEnded(l, event.StopEndTurn)
		if got.Status != end.status || got.Why == "" || (got.Status == event.RunFailed) != (got.Err != nil && got.Err.Kind != event.ErrLimit && got.Err.Kind != event.ErrCancelled) {
			t.Errorf("%s became %s", reason, showValue(reflect.ValueOf(got)))
		}
	}
	if got := r.runEnded(&claudeLine{Terminal: "a_reason_of_2027", IsError: true}, ""); got.Status != event.RunFailed || got.Err == nil {
		t.Errorf("an unknown reason with is_error became %s", showValue(reflect.ValueOf(got)))
	}
	if got := claudeErrorKind("an_error_of_2027", 0); got != event.ErrModel {
		t.Errorf("an unknown error became %s", got)
	}
}

// A line that nobody has described fails, wherever its strangeness is.
func TestVocabularyClaudeRefusesTheUnknown(t *testing.T) {
	t.Parallel()
	const init = `{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[],"mcp_servers":[]}`
	for name, line := range map[string]string{
		"type":            `{"type":"hologram","session_id":"s"}`,
		"system subtype":  `{"type":"system","subtype":"hologram","session_id":"s"}`,
		"block":           `{"type":"assistant","session_id":"s","message":{"id":"m1","model":"m","content":[{"type":"hologram"}]}}`,
		"control request": `{"type":"control_request","request_id":"r","request":{"subtype":"hologram"}}`,
		"hook":            `{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback","input":{"hook_event_name":"Hologram"}}}`,
		"stream event":    `{"type":"stream_event","session_id":"s","event":{"type":"hologram"}}`,
		"user text":       `{"type":"user","session_id":"s","message":{"role":"user","content":"from nowhere"}}`,
		"scope":           `{"type":"assistant","session_id":"s","parent_tool_use_id":"toolu_x","message":{"id":"m1","model":"m","content":[{"type":"text","text":"x"}]}}`,
		"call":            `{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_x","content":"x"}]}}`,
	} {
		r := newClaudeReader(false)
		if err := r.line(false, []byte(init)); err != nil {
			t.Fatal(err)
		}
		if err := r.line(false, []byte(line)); err == nil {
			t.Errorf("an unknown %s became %d events and no error", name, len(r.events))
		}
	}
}

// The copies are the originals.
func TestVocabularyRecordingsAreCopies(t *testing.T) {
	t.Parallel()
	root := os.Getenv("BRAID_FIXTURES")
	if root == "" {
		t.Skip("BRAID_FIXTURES does not name the folder of the originals")
	}
	dir := filepath.Join(root, "claude-stream-json")
	originals, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if names := recordingNames(t); len(originals) != len(names) {
		t.Errorf("%d originals and %d copies", len(originals), len(names))
	}
	for _, path := range originals {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(recordingsDir, filepath.Base(path)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not its original", filepath.Base(path))
		}
	}
	countsOfReadme(t, filepath.Join(dir, "README.md"))
}

// countsOfReadme compares our count of the lines with the one that was made
// when they were recorded.
func countsOfReadme(t *testing.T, path string) {
	t.Helper()
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(readme), "Lines by type in all files: ")
	if !ok {
		t.Fatal("the README counts no lines")
	}
	want := map[string]int{}
	for _, m := range regexp.MustCompile("`([a-z_/]+)` ([0-9]+)").FindAllStringSubmatch(list, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		want[m[1]] = n
	}
	got := map[string]int{}
	for _, name := range recordingNames(t) {
		r := readRecording(t, name)
		if r.dialog {
			continue
		}
		for _, l := range r.lines {
			var c claudeLine
			if err := json.Unmarshal(l.data, &c); err != nil {
				t.Fatal(err)
			}
			kind := c.Type
			switch {
			case c.Request != nil:
				kind += "/" + c.Request.Subtype
			case c.Subtype != "":
				kind += "/" + c.Subtype
			}
			got[kind]++
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("lines by type\n got %v\nwant %v", got, want)
	}
}
