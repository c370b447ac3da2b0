package skill

import (
	"strings"

	"github.com/braidrun/braid/event"
)

// These are the bounds of skills.
const (
	// MaxSkills bounds the number of skills in a [Set]. MaxList bounds the bytes of their names and
	// descriptions together, because the model reads all of them with each request.
	MaxSkills = 200
	MaxList   = 48 << 10
	// MaxFile bounds the size of a SKILL.md, and of any other file of a skill, in bytes.
	// MaxFrontMatter bounds the front matter.
	MaxFile        = 256 << 10
	MaxFrontMatter = 16 << 10
	// MaxName, MaxDescription and MaxCompatibility are the format's own bounds, in characters.
	MaxName          = 64
	MaxDescription   = 1024
	MaxCompatibility = 500
	// LongestDescription bounds a description that is used, in characters. Skills are published with
	// more than MaxDescription, and work.
	LongestDescription = 4 << 10
)

// File is the file that makes a folder a skill.
const File = "SKILL.md"

// Skill is the front matter of a SKILL.md.
type Skill struct {
	// Name is also the name of its folder: lower-case letters, digits, and single hyphens between
	// them.
	Name string
	// Description says what the skill does and when to use it.
	Description string
	// License and Compatibility may be empty.
	License       string
	Compatibility string
	// AllowedTools are the tools that the skill wants to use without asking, such as "Bash(git:*)".
	// This package permits nothing because of them.
	AllowedTools []string
	// Metadata are the author's other values.
	Metadata map[string]string
	// Ignored lists the ignored parts of the front matter: unknown keys, and metadata that is not a
	// text.
	Ignored []string
}

// Problem says why a skill or a folder of skills was not loaded.
type Problem struct {
	// Dir is the folder of skills as it was given to [Load]. Folder is the skill's folder in it; it
	// is empty for a problem of Dir.
	Dir    string
	Folder string
	// Err is the reason, with a hint. It is an [*event.Error] and contains no path.
	Err error
}

// Error returns the folder's name and the reason.
func (p Problem) Error() string {
	if p.Folder == "" {
		return p.Err.Error()
	}
	return `the skill "` + shown(p.Folder) + `": ` + p.Err.Error()
}

// Unwrap returns Err.
func (p Problem) Unwrap() error { return p.Err }

func invalid(message, hint string) error {
	return &event.Error{Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// shown returns a short form of a foreign name, without invisible characters.
func shown(s string) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	if r := []rune(s); len(r) > MaxName {
		s = string(r[:MaxName]) + "…"
	}
	return s
}
