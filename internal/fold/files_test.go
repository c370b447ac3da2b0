package fold_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// filesLog adds the events of tool calls that change files.
type filesLog struct {
	v     *fold.Conversation
	seq   int64
	cycle int
}

func (l *filesLog) add(b event.Body) { l.addAt("", b) }

func (l *filesLog) addAt(step string, b event.Body) {
	l.seq++
	l.v.Add(&event.Event{Header: event.Header{Seq: l.seq, Run: "r", Cycle: l.cycle, Step: step, Attempt: 1}, Body: b})
}

// call adds a cycle with one call.
func (l *filesLog) call(files []event.FileChange, more int) {
	l.cycle++
	call, step := "c"+strconv.Itoa(l.cycle), fold.StepName("", 't', l.cycle, 0)
	l.addAt(fold.StepName("", 'm', l.cycle, 0), &event.StepBegun{Step: event.StepModel, Model: "m"})
	l.addAt(fold.StepName("", 'm', l.cycle, 0), &event.AssistantMessage{
		Content: []event.Block{&event.ToolCall{ID: call, Name: "write"}}, Stop: event.StopToolUse,
	})
	l.addAt(step, &event.StepBegun{Step: event.StepTool, Call: call, Tool: "write"})
	l.addAt(step, &event.StepEnded{
		Step: event.StepTool, Outcome: event.OutcomeDone, Result: &event.ToolResult{Call: call, Name: "write"}, Files: files, MoreFiles: more,
	})
}

// TestARunListsItsFileChanges compares what the run lists with what stands in the workspace before and after it.
func TestARunListsItsFileChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := map[string]int64{}, map[string]int64{}
		touched := map[string]bool{}
		for i := range rapid.IntRange(0, 5).Draw(t, "before") {
			before[strconv.Itoa(i)], after[strconv.Itoa(i)] = 1, 1
		}
		v := fold.New(nil)
		l := &filesLog{v: v}
		l.add(&event.RunStarted{Agent: "a", Turn: 1, Session: 1})
		for i := range rapid.IntRange(0, 30).Draw(t, "calls") {
			var files []event.FileChange
			for range rapid.IntRange(0, 2).Draw(t, "files") {
				path := strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "path"))
				c := event.FileChange{Path: path, Kind: event.FileAdded, Size: int64(10 + i)}
				if _, there := after[path]; there {
					c.Kind = event.FileChanged
					if rapid.Bool().Draw(t, "removed") {
						c = event.FileChange{Path: path, Kind: event.FileRemoved}
					}
				}
				if delete(after, path); c.Kind != event.FileRemoved {
					after[path] = c.Size
				}
				touched[path] = true
				files = append(files, c)
			}
			l.call(files, i%2)
		}
		var want []event.FileChange
		for _, path := range slices.Sorted(maps.Keys(touched)) {
			_, was := before[path]
			size, is := after[path]
			switch {
			case is && was:
				want = append(want, event.FileChange{Path: path, Kind: event.FileChanged, Size: size})
			case is:
				want = append(want, event.FileChange{Path: path, Kind: event.FileAdded, Size: size})
			case was:
				want = append(want, event.FileChange{Path: path, Kind: event.FileRemoved})
			}
		}
		if got, _ := v.Run.Files(); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestManyFileChangesAreCounted where the list ends.
func TestManyFileChangesAreCounted(t *testing.T) {
	t.Parallel()
	v := fold.New(nil)
	l := &filesLog{v: v}
	l.add(&event.RunStarted{Agent: "a", Turn: 1, Session: 1})
	for i := range 2 {
		var files []event.FileChange
		for n := range event.MaxFileChanges {
			files = append(files, event.FileChange{Path: strconv.Itoa(i*1000 + n), Kind: event.FileAdded})
		}
		l.call(files, 7)
	}
	if got, more := v.Run.Files(); len(got) != event.MaxFileChanges || more != event.MaxFileChanges+14 {
		t.Errorf("listed %d and counted %d", len(got), more)
	}
}
