package event

// FileChange is what a tool, or a run, did to a file of a workspace.
type FileChange struct {
	Path string `json:"path"`
	// Kind is "added", "changed" or "removed".
	Kind string `json:"kind"`
	// Size is that of the file afterwards, in bytes; 0 for one that was removed.
	Size int64 `json:"size,omitempty"`
}

// The kinds of a [FileChange].
const (
	FileAdded   = "added"
	FileChanged = "changed"
	FileRemoved = "removed"
)

// MaxFileChanges bounds the changes that one event lists. It counts the others.
const MaxFileChanges = 500
