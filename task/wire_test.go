package task_test

import (
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/task"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/story"
)

// frames are the frames of a conversation's log.
func frames(t *testing.T, conv *braid.Conversation) (list []native.Frame) {
	t.Helper()
	var tells story.Story
	enc := native.NewEncoder("c")
	for e, err := range conv.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if it := tells.Add(e); it != nil {
			list = append(list, enc.Frames(it)...)
		}
	}
	return list
}

// parentOf is the call whose agent a frame is of; ok is false for a frame without such a field.
func parentOf(f native.Frame) (call string, ok bool) {
	switch f := f.(type) {
	case *native.Message:
		return f.Parent, true
	case *native.ToolUse:
		return f.Parent, true
	case *native.ToolResult:
		return f.Parent, true
	case *native.SubagentStart:
		return f.Parent, true
	case *native.SubagentEnd:
		return f.Parent, true
	default:
		return "", false
	}
}

// Each agent has a beginning and an end, and all frames between that are its own have its call as their parent.
func TestFramesOfTasks(t *testing.T) {
	t.Parallel()
	middle := braid.New("middle", lead(call("finder", "deep")), braid.Tools(task.New(task.Options{}, team()...)))
	agent := braid.New("lead", lead(call("middle", "x"), call("middle", "y")), braid.Tools(task.New(task.Options{}, task.Type{Agent: middle})))
	conv := braid.NewConversation()
	if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
		t.Fatal(err)
	}
	open, above := map[string]string{}, map[string]string{}
	begun, ended := 0, 0
	for _, f := range frames(t, conv) {
		parent, has := parentOf(f)
		if has && parent != "" && open[parent] == "" {
			t.Errorf("%s has the parent %q, which is not at work", native.AppendJSON(nil, f), parent)
		}
		switch f := f.(type) {
		case *native.SubagentStart:
			begun++
			open[f.ToolUseID], above[f.ToolUseID] = f.SubagentType, parent
			if f.Model == "" || f.Description != "some work" || (f.SubagentType == "finder") == (parent == "") {
				t.Errorf("%+v", f)
			}
		case *native.SubagentEnd:
			ended++
			if open[f.ToolUseID] != f.SubagentType || above[f.ToolUseID] != parent || f.Status != event.RunCompleted || f.Usage.TotalTokens == 0 || f.Result != "" {
				t.Errorf("%+v", f)
			}
			delete(open, f.ToolUseID)
		case *native.Message:
			if (f.Model == "m:lead" && f.StopReason == event.StopToolUse && f.Usage.TotalTokens != 25) || f.Model == "m:finder" && open[f.Parent] != "finder" {
				t.Errorf("%+v has the parent %q", f, f.Parent)
			}
		}
	}
	if begun != 4 || ended != 4 || len(open) != 0 {
		t.Errorf("%d agents began, %d ended; open: %v", begun, ended, open)
	}
}
