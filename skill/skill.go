package skill

import (
	"strings"

	"github.com/braidrun/braid/event"
)

// Bounds of what is read.
const (
	// MaxSkills is how many skills a [Set] has, and MaxList how many bytes their names
	// and descriptions have together: the model reads all of them with each request.
	MaxSkills = 200
	MaxList   = 48 << 10
	// MaxFile is how large a SKILL.md, and any other file of a skill, may be, in bytes;
	// MaxFrontMatter bounds the front matter.
	MaxFile        = 256 << 10
	MaxFrontMatter = 16 << 10
	// MaxName, MaxDescription and MaxCompatibility are the format's own bounds, in
	// characters.
	MaxName          = 64
	MaxDescription   = 1024
	MaxCompatibility = 500
)

// File is the file that makes a folder a skill.
const File = "SKILL.md"

// Skill is what the front matter of a SKILL.md says.
type Skill struct {
	// Name is that of its folder too: lower-case letters, digits, and single hyphens
	// between them.
	Name string
	// Description says what the skill does and when to use it.
	Description string
	// License and Compatibility are empty where nothing is said.
	License       string
	Compatibility string
	// AllowedTools are the tools that the skill wants to use without asking, as they are
	// written there, such as "Bash(git:*)". They are a wish: nothing here permits them.
	AllowedTools []string
	// Metadata is whatever else its author wanted to say.
	Metadata map[string]string
	// Ignored names what stands in the front matter and was left out: keys that the
	// format does not know, and metadata that is more than a text.
	Ignored []string
}

// Problem is a skill that was not loaded, or a folder of skills, and why.
type Problem struct {
	// Dir is the folder of skills as it was given to [Load], Folder the skill's own
	// folder in it; empty where the problem is Dir itself.
	Dir    string
	Folder string
	// Err says what is wrong and what to do. It is an [*event.Error] and holds no path.
	Err error
}

// Error is the folder's name and what is wrong with it, for people.
func (p Problem) Error() string {
	if p.Folder == "" {
		return p.Err.Error()
	}
	return `the skill "` + shown(p.Folder) + `": ` + p.Err.Error()
}

// Unwrap gives Err.
func (p Problem) Unwrap() error { return p.Err }

func invalid(message, hint string) error {
	return &event.Error{Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// shown is a name that somebody else gave, short and without what people do not see.
func shown(s string) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	if r := []rune(s); len(r) > MaxName {
		s = string(r[:MaxName]) + "…"
	}
	return s
}
