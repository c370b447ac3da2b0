package fold_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold/foldtest"
)

func TestStoredFoldIsTheFoldOfTheWholeLogOfGeneratedConversations(t *testing.T) {
	t.Parallel()
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		n, err := foldtest.StoredFolds(conversation(t))
		if compared += n; err != nil {
			t.Fatal(err)
		}
	})
	if compared < 200 { // 20 cases have about 700
		t.Errorf("only %d folds were compared", compared)
	}
}

// talk is a conversation that is being made.
type talk struct {
	t       *rapid.T
	log     []*event.Event
	run     string
	runs    int
	session int
	begin   int64
	cycle   int
	// failed is the run that failed last, and where it began.
	failed string
	from   int64
	// served is the newest call of a tool that a provider ran.
	served string
}

func (c *talk) add(step string, body event.Body) {
	e := &event.Event{Body: body}
	e.Seq, e.Run, e.Author, e.Cycle, e.Step = int64(len(c.log)+1), c.run, "root", c.cycle, step
	e.Time = foldtest.Noon.Add(time.Duration(len(c.log)) * time.Second)
	if step != "" {
		e.Attempt = 1
	}
	c.log = append(c.log, e)
}

func (c *talk) chance(name string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(c.t, name) < percent
}

func (c *talk) words(what string) []event.Block {
	text := what + " " + strconv.Itoa(len(c.log)) + rapid.SampledFrom([]string{"", " é", " \"<&>\""}).Draw(c.t, "text")
	blocks := []event.Block{&event.Text{Text: text}}
	switch rapid.IntRange(0, 9).Draw(c.t, "block") {
	case 0:
		blocks = append(blocks, &event.Image{MIME: "image/png", Data: []byte{1, 2, 3}})
	case 1:
		blocks = append(blocks, &event.Text{Text: "signed", Signature: "s"})
	}
	return blocks
}

// vendor is a block of a tool that the provider runs.
func vendor(kind, of, id string) *event.UnknownBlock {
	raw, _ := json.Marshal(map[string]string{"kind": kind, of: id, "name": "search"})
	return &event.UnknownBlock{Name: event.BlockKind(kind), Raw: raw}
}

func (c *talk) begins() {
	c.runs++
	c.run, c.cycle = "run-"+strconv.Itoa(c.runs), 0
	b := &event.RunStarted{Agent: "root", Turn: c.runs, Metadata: map[string]string{"n": c.run}}
	continues := c.failed != "" && c.chance("continue", 50)
	if continues {
		b.Continues, b.From = c.failed, c.from
	} else if c.session == 0 || c.chance("session", 8) {
		c.session++
		c.begin = int64(len(c.log)) + 1
	}
	b.Session = c.session
	if c.chance("spent", 10) {
		b.Spent = &event.Spent{Cycles: c.runs, CostNanoUSD: 5}
	}
	if c.chance("found", 10) {
		b.Found = []string{"found-" + c.run}
	}
	if !continues {
		c.from = int64(len(c.log)) + 1
	}
	c.failed = ""
	c.add("", b)
	if !continues && !c.chance("no input", 5) {
		c.add("", &event.UserMessage{Content: c.words("question")})
	}
}

// model is a model call with its answer.
func (c *talk) model(content []event.Block, stop event.StopReason) {
	c.cycle++
	step := "m" + strconv.Itoa(c.cycle)
	if c.chance("setup", 15) {
		b := &event.Setup{Text: "setup " + step, Tools: []event.SetupTool{{Name: "look", Schema: `{ "type": "object" }`}}, Base: c.chance("base", 30)}
		c.add("", b)
	}
	c.add(step, &event.StepBegun{Step: event.StepModel, Model: "m"})
	b := &event.AssistantMessage{Content: content, Stop: stop, Model: "m"}
	if !c.chance("unmetered", 40) {
		b.Usage = event.Usage{Input: int64(10 * len(c.log)), Output: 3}
	}
	c.add(step, b)
}

func (c *talk) cycles() {
	for range rapid.IntRange(0, 3).Draw(c.t, "cycles") {
		var calls []event.Block
		for i := range rapid.IntRange(1, 3).Draw(c.t, "calls") {
			calls = append(calls, &event.ToolCall{ID: fmt.Sprint(c.run, "-", c.cycle, "-", i), Name: "look", Args: json.RawMessage(`{"a":1}`)})
		}
		if c.chance("served", 20) {
			c.served = "srv-" + strconv.Itoa(len(c.log))
			calls = append([]event.Block{vendor("server_tool_use", "id", c.served)}, calls...)
		}
		c.model(append(c.words("looking"), calls...), event.StopToolUse)
		for i, b := range event.CallsOf(calls) {
			step := "t" + strconv.Itoa(c.cycle) + "." + strconv.Itoa(i)
			c.add(step, &event.StepBegun{Step: event.StepTool, Call: b.ID, Tool: b.Name})
			if c.chance("state", 20) {
				c.add("", &event.StateChanged{Set: map[string]json.RawMessage{
					rapid.SampledFrom([]string{"own", "app:all", "user:mine", "run:now"}).Draw(c.t, "key"): json.RawMessage(strconv.Itoa(len(c.log))),
				}})
			}
			if c.chance("delete", 5) {
				c.add("", &event.StateChanged{Delete: []string{"own", "user:mine"}})
			}
			c.add(step, &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{
				Call: b.ID, Name: b.Name, Content: c.words("result"),
			}})
		}
		if c.chance("mail", 10) {
			c.add("", &event.UserMessage{Content: c.words("also"), Mail: "mail-" + strconv.Itoa(len(c.log))})
		}
	}
}

// hides adds a compaction or a redaction of something earlier.
func (c *talk) hides() {
	last := int64(len(c.log))
	if c.chance("redaction", 6) {
		c.add("", &event.Redacted{Target: rapid.Int64Range(1, last).Draw(c.t, "target"), Clean: c.chance("clean", 30)})
	}
	if c.chance("compaction", 6) && last > c.begin+1 {
		from := rapid.Int64Range(c.begin+1, last).Draw(c.t, "from")
		b := &event.Compacted{From: from, To: rapid.Int64Range(from, last).Draw(c.t, "to"), Summary: c.words("summary")}
		if c.chance("cut", 30) {
			b.Cut, b.Summary = true, nil
		}
		c.add("", b)
	}
}

func (c *talk) ends() {
	content := c.words("answer")
	if c.served != "" && c.chance("late result", 60) {
		content = append(content, vendor("web_search_tool_result", "tool_use_id", c.served))
	}
	if c.chance("own summary", 5) {
		content = append(content, vendor("compaction", "id", "c"))
	}
	how := rapid.SampledFrom([]string{"completed", "completed", "completed", "failed", "kept", "cancelled", "limit", "open", "partial"}).Draw(c.t, "end")
	if how == "completed" || how == "kept" || c.chance("answered", 30) {
		c.model(content, event.StopEndTurn)
	}
	c.hides()
	end := &event.RunEnded{Status: event.RunCompleted, Why: event.WhyEndTurn, Stop: event.StopEndTurn}
	switch how {
	case "open":
		return
	case "failed", "kept":
		end.Status, end.Why, end.Keep = event.RunFailed, event.WhyFailed, how == "kept"
		end.Err = &event.Error{Kind: event.ErrModel, Message: "no"}
		c.failed = c.run
	case "cancelled", "partial":
		end.Status, end.Why = event.RunCancelled, event.WhyCancelled
		if how == "partial" {
			end.Partial = "half an ans"
		}
	case "limit":
		end.Why, end.Stop = event.WhyLimit, event.StopLimitCycles
	}
	c.add("", end)
}

// conversation generates a log with all that a fold of the root agent's work can meet.
func conversation(t *rapid.T) []*event.Event {
	c := &talk{t: t}
	for range rapid.IntRange(1, 12).Draw(t, "runs") {
		c.begins()
		c.cycles()
		c.hides()
		c.ends()
	}
	for _, e := range c.log { // as a store returns it
		raw, err := event.AppendJSON(nil, e)
		if err == nil {
			err = e.UnmarshalJSON(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c.log
}
