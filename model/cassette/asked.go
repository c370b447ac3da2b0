package cassette

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// asked is a request as it is compared and written: secrets hidden, white space
// taken out, runs by number.
type asked struct {
	setup    setupLine
	messages []json.RawMessage
}

// askedOf makes it. The error says that a message cannot be written.
func askedOf(req *model.Request, h *hider, runs runs) (*asked, error) {
	a := &asked{setup: setupLine{Kind: lineSetup, Instructions: h.text(strings.ToValidUTF8(req.Instructions, "\uFFFD"))}}
	for _, t := range req.Tools {
		schema, err := compact(t.Schema)
		if err != nil {
			return nil, unwritable("the schema of the tool "+strconv.Quote(t.Name), err)
		}
		a.setup.Tools = append(a.setup.Tools, toolLine{t.Name, h.text(strings.ToValidUTF8(t.Description, "\uFFFD")), h.json(schema, true)})
	}
	if c := (choiceLine{req.ToolChoice.Mode, req.ToolChoice.Tool, req.ToolChoice.Serial}); c != (choiceLine{}) {
		a.setup.Choice = &c
	}
	if o := req.Output; o != nil {
		schema, err := compact(o.Schema)
		if err != nil {
			return nil, unwritable("the schema of the answer", err)
		}
		a.setup.Output = &outputLine{o.Name, h.json(schema, true)}
	}
	a.setup.Options = optionsOf(&req.Options)
	a.messages = make([]json.RawMessage, len(req.Messages))
	for i, m := range req.Messages {
		m.Content = h.across(m.Content)
		raw, err := event.AppendMessage(nil, m)
		if err == nil {
			raw, err = compact(raw)
		}
		if err != nil {
			return nil, unwritable("message "+strconv.Itoa(i+1), err)
		}
		a.messages[i] = runs.number(h.json(raw, true))
	}
	return a, nil
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return strictjson.AppendCompact(nil, raw, maxDepth)
}

func unwritable(what string, err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: what + " cannot be written: " + err.Error(),
		Hint: "correct it, or run without a recording", Err: err,
	}
}

// runs numbers runs by their ids, because at a replay they have others.
type runs map[string]int

// number takes the ids out of the names that the loop gives to calls to which a model
// gives none.
func (r runs) number(raw []byte) []byte {
	text := string(raw)
	if !strings.Contains(text, callName) {
		return raw
	}
	for id := range r {
		text = strings.ReplaceAll(text, callName+id+"_", callName+"run_")
	}
	return []byte(text)
}

// callName begins the names that the loop gives to calls.
const callName = "call_"

// beginnings tells runs of one id apart: conversations that are kept nowhere each
// count theirs from one.
type beginnings map[beginning]bool

type beginning struct {
	run   string
	model int
}

// again reports whether a request begins another run of an id that was seen before.
func (b beginnings) again(model int, req *model.Request) bool {
	if req.Run == "" || req.Scope != "" || req.Cycle > 1 || req.Attempt > 1 {
		return false
	}
	at := beginning{req.Run, model}
	seen := b[at]
	b[at] = true
	return seen
}
