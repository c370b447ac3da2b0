package filetool_test

import (
	"context"
	"slices"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/tool/filetool"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/workspacetest"
)

// TestARunListsItsChanges that its tools made, and not those of others.
func TestARunListsItsChanges(t *testing.T) {
	t.Parallel()
	files := memory(workspace.Quota{})
	workspacetest.Write(t, files, "old", "one")
	workspacetest.Write(t, files, "same", "one")
	script, err := demo.New(demo.Replies("writer",
		[]demo.Piece{demo.Call("write", `{"path":"new","content":"1234"}`), demo.Call("edit", `{"path":"old","old":"one","new":"three"}`)},
		[]demo.Piece{demo.Call("write", `{"path":"new","content":"12345"}`), demo.Call("write", `{"path":"../out","content":"x"}`)},
		[]demo.Piece{demo.Say("Done.")},
	))
	if err != nil {
		t.Fatal(err)
	}
	agent := braid.New("writer", script, braid.From(filetool.New(files)))
	result, err := agent.Run(context.Background(), "Write.")
	if err != nil {
		t.Fatal(err)
	}
	got, more, err := workspace.RunChanges(result.Run, result.Conversation.Events(context.Background(), 0))
	want := []event.FileChange{{Path: "new", Kind: workspace.Added, Size: 5}, {Path: "old", Kind: workspace.Changed, Size: 5}}
	if err != nil || more != 0 || !slices.Equal(got, want) {
		t.Errorf("got %v and %d more, %v, want %v", got, more, err, want)
	}
	if got, _, err := workspace.RunChanges("none", result.Conversation.Events(context.Background(), 0)); err != nil || got != nil {
		t.Errorf("a run that is not there has %v, %v", got, err)
	}
}
