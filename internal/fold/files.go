package fold

import (
	"maps"
	"slices"

	"github.com/braidrun/braid/event"
)

// fileChanges are the changes of a run's files, by path.
type fileChanges struct {
	by map[string]event.FileChange
	// more counts changes that their events did not list.
	more int
}

// add adds what a tool call did to files.
func (f *fileChanges) add(b *event.StepEnded) {
	if len(b.Files) == 0 && b.MoreFiles == 0 {
		return
	}
	if f.by == nil {
		f.by = make(map[string]event.FileChange, len(b.Files))
	}
	f.more += b.MoreFiles
	for _, next := range b.Files {
		if was, ok := f.by[next.Path]; ok {
			switch {
			case was.Kind == event.FileAdded && next.Kind == event.FileRemoved:
				delete(f.by, next.Path)
				continue
			case was.Kind == event.FileAdded:
				next.Kind = event.FileAdded
			case was.Kind == event.FileRemoved && next.Kind == event.FileAdded:
				next.Kind = event.FileChanged
			}
		}
		f.by[next.Path] = next
	}
}

// list returns the changes in the order of their paths, and how many it lacks.
func (f *fileChanges) list() (list []event.FileChange, more int) {
	if len(f.by) == 0 {
		return nil, f.more
	}
	for _, path := range slices.Sorted(maps.Keys(f.by)) {
		list = append(list, f.by[path])
	}
	if over := len(list) - event.MaxFileChanges; over > 0 {
		return list[:event.MaxFileChanges], f.more + over
	}
	return list, f.more
}
