package skill

import (
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/unseen"
)

const lead = "Skills say how to go about certain kinds of tasks. Before you begin a task that one of these descriptions fits, " +
	"load that skill with the tool " + ToolName + " and follow it. Load no skill that the task does not need."

// Prompt returns base and below it the names and descriptions of the skills, the preferred ones
// first with a sentence that says so. It returns base alone if there are no skills.
func (s *Set) Prompt(base string) string {
	if len(s.list) == 0 {
		return base
	}
	var b strings.Builder
	b.WriteString(lead + "\n")
	line := func(l *loaded) {
		b.WriteString("- " + l.Name + ": " + strings.Join(strings.Fields(clean(l.Description)), " ") + "\n")
	}
	preferred := map[string]bool{}
	for _, name := range s.preferred {
		preferred[name] = true
		if l, err := s.find(name); err == nil {
			line(l)
		}
	}
	for i := range s.list {
		if !preferred[s.list[i].Name] {
			line(&s.list[i])
		}
	}
	if len(s.preferred) > 0 {
		b.WriteString("Where it fits, use one of these first, in this order: " + strings.Join(s.preferred, ", ") + ".\n")
	}
	return below(base, frame("skills", b.String()))
}

// Instructions implement [tool.Source]: the text of [Set.Prompt] without a base.
func (s *Set) Instructions() string { return s.Prompt("") }

// below joins two texts with an empty line.
func below(base, text string) string { return strings.TrimLeft(base+"\n\n"+text, "\n") }

// frame puts a text between tags that it cannot close.
func frame(tag, text string) string {
	text = strings.TrimSpace(text)
	if strings.Contains(strings.ToLower(text), "</"+tag) {
		text = strings.ReplaceAll(text, "<", "<\u200b")
	}
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}

// clean removes invisible characters: control characters and those that change the direction of
// writing.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError, unseen.Rune(r):
			return -1
		}
		return r
	}, s)
}
