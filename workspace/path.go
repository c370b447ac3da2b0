package workspace

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/unseen"
)

// The bounds of a path, in bytes and in folders.
const (
	MaxPath  = 1024
	MaxName  = 200
	MaxDepth = 32
)

// draftPrefix begins the names of files that are not stored yet. No path may hold such a name.
const draftPrefix = ".braid-"

// CheckPath returns ErrInvalid for a path that no workspace takes. A path is relative, UTF-8, and at most [MaxPath] bytes
// and [MaxDepth] names long. Each of its names has at most [MaxName] bytes, is neither "." nor "..", and is a name on
// every system: it has no control characters, no characters that hide or turn text, none of <>:"\|?*, no blank or dot at
// its end, and is no device of Windows.
func CheckPath(op, path string) error {
	refuse := func(why string) error {
		return invalid(op, "the path "+shown(path)+" "+why, `pass a relative path with slashes, such as "notes/today.txt"`)
	}
	switch {
	case path == "":
		return refuse("is empty")
	case len(path) > MaxPath:
		return refuse("is longer than " + strconv.Itoa(MaxPath) + " bytes")
	case !utf8.ValidString(path):
		return refuse("is not UTF-8")
	case path[0] == '/':
		return refuse("is not relative")
	case strings.Count(path, "/") >= MaxDepth:
		return refuse("has more than " + strconv.Itoa(MaxDepth) + " names")
	}
	for name := range strings.SplitSeq(path, "/") {
		if why := badName(name); why != "" {
			return refuse(why)
		}
	}
	return nil
}

// badName says why a path may not hold a name; empty means that it may.
func badName(name string) string {
	switch {
	case name == "":
		return "has an empty name in it"
	case name == "." || name == "..":
		return `has "." or ".." in it`
	case len(name) > MaxName:
		return "has a name of more than " + strconv.Itoa(MaxName) + " bytes in it"
	case strings.ContainsFunc(name, unprintable):
		return "has a control character in it"
	case strings.ContainsAny(name, `<>:"\|?*`):
		return `has one of <>:"\|?* in it`
	case name[len(name)-1] == '.' || name[len(name)-1] == ' ' || name[0] == ' ':
		return "has a blank or a dot at an end of a name"
	case strings.HasPrefix(name, draftPrefix):
		return "has a name that begins with " + draftPrefix
	case device(name):
		return "has the name of a device in it"
	}
	return ""
}

// unprintable reports whether a character moves, hides or turns the text around it. So a path stays one line where it is
// shown.
func unprintable(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || unseen.Rune(r) }

// devices are the names that Windows opens as devices in every folder.
var devices = []string{"AUX", "CON", "CONIN$", "CONOUT$", "NUL", "PRN"}

func device(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	if slices.Contains(devices, stem) {
		return true
	}
	port, found := strings.CutPrefix(stem, "COM")
	if !found {
		port, found = strings.CutPrefix(stem, "LPT")
	}
	return found && (len(port) == 1 && port[0] >= '0' && port[0] <= '9' || port == "¹" || port == "²" || port == "³")
}

// shown quotes a path for an error, and cuts a long one.
func shown(path string) string {
	const most = 80
	if len(path) > most {
		return strconv.Quote(strings.ToValidUTF8(path[:most], "")) + "…"
	}
	return strconv.Quote(path)
}

// checkFolder is [CheckPath] for the folder of a [Query], which may be empty.
func checkFolder(op, folder string) error {
	if folder == "" {
		return nil
	}
	return CheckPath(op, folder)
}

// parents calls do with each folder that a path stands in, the outermost first, until it returns an error.
func parents(path string, do func(folder string) error) error {
	for i := range len(path) {
		if path[i] == '/' {
			if err := do(path[:i]); err != nil {
				return err
			}
		}
	}
	return nil
}
