package agentcore

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// ToolUse is one tool call of a stream: one toolUseId, however often the stream repeats it.
type ToolUse struct {
	// Index numbers the stream's calls from 0, in order of appearance. A repeated call keeps its
	// number and gains details.
	Index int
	// ID is the toolUseId; empty if an announcement had none.
	ID string
	// Name is the tool's name; empty if unknown.
	Name string
	// Title is the display name from an announcement; see [ToolUse.Label].
	Title string
	// Input is a JSON value without white space, nil until it is complete. NaN and infinities in
	// it have become null.
	Input json.RawMessage
	// Result is the result of the call; nil until it is known.
	Result *event.ToolResult
}

// The icons of tools.
const (
	iconSearch    = "🔍"
	iconRead      = "📖"
	iconRecommend = "💡"
	iconTool      = "🔧"
)

// unknownTool is the display name of a tool without a name.
const unknownTool = "Unknown Tool"

// TitleOf returns the icon and the display name of the tool called name. The AWS knowledge tools
// have display names of their own (seed 1); others keep their name behind a wrench; a tool
// without a name is "Unknown Tool".
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

// Label returns the call's icon and display name.
func (u *ToolUse) Label() (icon, title string) {
	icon, title = TitleOf(u.Name)
	if u.Title != "" && (u.Name == "" || icon == iconTool) {
		title = u.Title
	}
	return icon, title
}

// tools are the calls of a stream so far.
type tools struct {
	all  []*ToolUse
	byID map[string]*ToolUse
	// cycle is the index of the first call of this message. Calls without an id can be equal
	// only within one message.
	cycle int
}

// add merges the details of a call and returns the call.
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

// looksBack is the maximum number of calls that a call without an id is compared with.
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
			// An announcement without its call has only a display name.
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

// result records the result of a call.
func (t *tools) result(r *event.ToolResult) {
	have := t.byID[r.Call]
	if have == nil {
		return
	}
	r.Name = have.Name
	have.Result = r
}
