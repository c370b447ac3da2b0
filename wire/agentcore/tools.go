package agentcore

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// ToolUse is one tool call of a stream: one toolUseId, however often the stream tells of it.
type ToolUse struct {
	// Index numbers the stream's calls from 0, in the order in which they were first
	// told. A call that is told again keeps its number and only learns more.
	Index int
	// ID is the toolUseId; empty where an announcement told none.
	ID string
	// Name is the tool's own; empty where it is not known.
	Name string
	// Title is the name for people that an announcement gave; see [ToolUse.Label].
	Title string
	// Input is a JSON value without white space, nil until it is told whole. NaN and
	// the infinities in it have become null.
	Input json.RawMessage
	// Result is what the call came to; nil until it is told.
	Result *event.ToolResult
}

// The icons of tools.
const (
	iconSearch    = "🔍"
	iconRead      = "📖"
	iconRecommend = "💡"
	iconTool      = "🔧"
)

// unknownTool stands for a tool without a name.
const unknownTool = "Unknown Tool"

// TitleOf is the name for people, and the icon, of the tool called name: the AWS
// knowledge tools have names of their own (seed 1), others are called as they are
// behind a wrench, and one without a name is "Unknown Tool".
func TitleOf(name string) (icon, title string) {
	switch name {
	case "aws___search_documentation":
		return iconSearch, "AWS Documentation Search"
	case "aws___read_documentation":
		return iconRead, "AWS Documentation Reader"
	case "aws___recommend":
		return iconRecommend, "AWS Documentation Recommendations"
	case "":
		return iconTool, unknownTool
	default:
		return iconTool, name
	}
}

// Label is the call's icon and its name for people.
func (u *ToolUse) Label() (icon, title string) {
	icon, title = TitleOf(u.Name)
	if u.Title != "" && (u.Name == "" || icon == iconTool) {
		title = u.Title
	}
	return icon, title
}

// tools are the calls that a stream has told of.
type tools struct {
	all  []*ToolUse
	byID map[string]*ToolUse
	// cycle is the index of the first call of this message: calls without an id are
	// the same only within one.
	cycle int
}

// add takes in what is told of a call, and gives the call.
func (t *tools) add(u ToolUse) *ToolUse {
	have := t.find(&u)
	if have == nil {
		u.Index = len(t.all)
		have = &u
		t.all = append(t.all, have)
	}
	if have.ID == "" {
		have.ID = u.ID
	}
	if have.Name == "" {
		have.Name = u.Name
	}
	if have.Title == "" {
		have.Title = u.Title
	}
	if u.Input != nil {
		have.Input = u.Input
	}
	if u.Result != nil {
		have.Result = u.Result
	}
	if have.ID != "" {
		if t.byID == nil {
			t.byID = map[string]*ToolUse{}
		}
		t.byID[have.ID] = have
	}
	return have
}

// looksBack bounds how many calls one without an id is compared with.
const looksBack = 100

func (t *tools) find(u *ToolUse) *ToolUse {
	if u.ID != "" {
		if have := t.byID[u.ID]; have != nil {
			return have
		}
	}
	for _, have := range t.all[max(t.cycle, len(t.all)-looksBack):] {
		switch {
		case have.ID != "" && u.ID != "":
		case u.ID == "" && u.Title != "" && u.Name == "" || have.ID == "" && have.Name == "":
			// An announcement without its call: the name for people is all there is.
			if label(have) == label(u) {
				return have
			}
		case have.Name == u.Name && string(have.Input) == string(u.Input):
			return have
		}
	}
	return nil
}

func label(u *ToolUse) string {
	_, title := u.Label()
	return title
}

// result notes what a call came to.
func (t *tools) result(r *event.ToolResult) {
	have := t.byID[r.Call]
	if have == nil {
		return
	}
	r.Name = have.Name
	have.Result = r
}
