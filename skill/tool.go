package skill

import (
	"context"
	"strings"

	"github.com/braidrun/braid/tool"
)

// ToolName is the tool that loads a skill.
const ToolName = "skill"

// request is what the tool is called with.
type request struct {
	Name string `json:"name"           jsonschema:"the name of a skill in your instructions"`
	File string `json:"file,omitempty" jsonschema:"a file of the skill, by its path from the skill's folder; leave it out to load the skill itself"`
}

// Tools returns the tool "skill", which returns the body of a skill with the paths of its files, or
// one of these files. It only reads, unless [Set.CopyTo] lets it copy files. It returns no tool if there
// are no skills.
func (s *Set) Tools() []tool.Tool {
	switch {
	case len(s.list) == 0:
		return nil
	case s.put != nil:
		return []tool.Tool{s.copyingTool()}
	}
	return []tool.Tool{tool.Func(
		ToolName, "Loads a skill, which says how to go about a certain kind of task, or a file that the skill refers to.",
		s.load, tool.Pure(),
	)}
}

func (s *Set) load(ctx context.Context, in request) (string, error) {
	one, err := s.find(in.Name)
	if err != nil {
		return "", err
	}
	own, err := one.open(ctx)
	if err != nil {
		return "", err
	}
	defer own.Close()
	if in.File != "" {
		return file(own, in.File)
	}
	data, err := skillFile(own)
	if err != nil {
		return "", err
	}
	_, body, err := Parse(one.Name, data)
	if err != nil {
		return "", err
	}
	list, all := files(own)
	if len(list) == 0 {
		return body, nil
	}
	var b strings.Builder
	b.WriteString(body)
	b.WriteString("\n\nFiles of this skill, which the tool " + ToolName + " reads:\n")
	for _, name := range list {
		b.WriteString("- " + shownPath(name) + "\n")
	}
	if !all {
		b.WriteString("- and more\n")
	}
	return b.String(), nil
}

// shownPath returns a path as one line.
func shownPath(name string) string { return strings.ReplaceAll(clean(name), "\n", " ") }
