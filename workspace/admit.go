package workspace

import "strings"

// Admit checks whether a file of size bytes may stand at a path beside the files of a whole workspace: the condition, the
// place and the quota. It is for implementations of [Files] that know the list.
func Admit(op string, list []File, path string, size int64, c Condition, q Quota) error {
	var u usage
	var old File
	there := false
	for _, f := range list {
		u.files++
		u.bytes += f.Size
		switch {
		case f.Path == path:
			old, there = f, true
		case strings.HasPrefix(f.Path, path+"/"):
			return notPlain(op, path)
		case strings.HasPrefix(path, f.Path+"/"):
			return inFile(op, path)
		}
	}
	if err := c.holds(op, path, old, there); err != nil {
		return err
	}
	replaced := int64(-1)
	if there {
		replaced = old.Size
	}
	limit, all, err := q.filled().room(op, u, replaced)
	if err == nil && size > limit {
		err = tooMany(op, limit, all)
	}
	return err
}
