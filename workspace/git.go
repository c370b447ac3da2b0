package workspace

import "strings"

// OfGit reports whether a path is git's own: a name in it is .git, in any case, or git~1, which is .git on Windows. Tools of
// models do not change such files, because git runs programs that they name, outside of every sandbox.
func OfGit(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1") {
			return true
		}
	}
	return false
}
