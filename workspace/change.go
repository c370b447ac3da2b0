package workspace

import "github.com/braidrun/braid/event"

// Change is what happened to a file between two lists.
type Change = event.FileChange

// The kinds of a [Change].
const (
	Added   = event.FileAdded
	Changed = event.FileChanged
	Removed = event.FileRemoved
)

// Changes compares two lists of [Files].List and returns what differs, in the order of the paths.
func Changes(before, after []File) []Change {
	var out []Change
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(before) == 0 || len(after) > 0 && after[0].Path < before[0].Path:
			out = append(out, Change{Path: after[0].Path, Kind: Added, Size: after[0].Size})
			after = after[1:]
		case len(after) == 0 || before[0].Path < after[0].Path:
			out = append(out, Change{Path: before[0].Path, Kind: Removed})
			before = before[1:]
		default:
			if before[0].Version != after[0].Version {
				out = append(out, Change{Path: after[0].Path, Kind: Changed, Size: after[0].Size})
			}
			before, after = before[1:], after[1:]
		}
	}
	return out
}
