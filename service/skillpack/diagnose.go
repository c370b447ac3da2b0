package skillpack

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/skill"
)

const (
	// mostDiagnostics bounds the list of findings.
	mostDiagnostics = 50
	// longBody is the number of lines that the format recommends at most.
	longBody = 500
)

// diagnose finds what is odd about a skill that can be used.
func diagnose(front *skill.Skill, text string, c *collector) []directory.SkillDiagnostic {
	d := &diagnosis{lines: strings.Split(text, "\n"), paths: make(map[string]string, len(c.files))}
	for _, f := range c.files {
		d.paths[strings.ToLower(f.path)] = f.path
	}
	for _, key := range front.Ignored {
		d.add(d.lineOf(key), shown(key)+" is not a key of the format, and is ignored")
	}
	if n := utf8.RuneCountInString(front.Description); n > skill.MaxDescription {
		d.add(d.lineOf("description"), fmt.Sprintf("the description has %d characters; the format allows %d", n, skill.MaxDescription))
	}
	d.references()
	if n := len(d.lines); n > longBody {
		d.add(0, fmt.Sprintf("it has %d lines; the format recommends at most %d, and files of its own for the rest", n, longBody))
	}
	if c.left > 0 {
		d.found = append(d.found, directory.SkillDiagnostic{
			Message: fmt.Sprintf("%d files are left out: %s", c.left, strings.Join(leftOut, ", ")),
		})
	}
	return d.found[:min(len(d.found), mostDiagnostics)]
}

// diagnosis collects findings in a SKILL.md.
type diagnosis struct {
	lines []string
	// paths are the skill's files by their paths in lower case.
	paths map[string]string
	found []directory.SkillDiagnostic
}

func (d *diagnosis) add(line int, message string) {
	d.found = append(d.found, directory.SkillDiagnostic{File: skill.File, Line: line, Message: message})
}

// lineOf returns the line of a key of the front matter; 0 if it cannot be told.
func (d *diagnosis) lineOf(key string) int {
	key = strings.TrimPrefix(key, "metadata.")
	for i, line := range d.lines[1:] {
		line = strings.TrimSpace(line)
		if line == "---" {
			break
		}
		if name, _, ok := strings.Cut(line, ":"); ok && strings.Trim(name, `"'`) == key {
			return i + 2
		}
	}
	return 0
}

// pathLike matches what may be the name of a file in a text, and link the target of a Markdown link.
var (
	pathLike = lazyre.New(`[A-Za-z0-9_][A-Za-z0-9_./-]*\.[A-Za-z0-9]{1,8}\b`)
	link     = lazyre.New(`\]\(([^)\s]+)\)`)
)

// references finds names of files that the skill does not have, or has in other letters. Only the target
// of a link must be a file of the skill: a text also names files that a task makes.
func (d *diagnosis) references() {
	told := map[string]bool{}
	for i, line := range d.lines {
		if len(line) > 4<<10 {
			continue // no text of a person
		}
		for _, name := range pathLike.FindAllString(line, -1) {
			name = path.Clean(name)
			if there := d.paths[strings.ToLower(name)]; there != "" && there != name && !told[name] {
				told[name] = true
				d.add(i+1, fmt.Sprintf("%s is called %s in the skill; the tool finds it, other systems may not", shown(name), shown(there)))
			}
		}
		for _, found := range link.FindAllStringSubmatch(line, -1) {
			target, _, _ := strings.Cut(found[1], "#")
			if target == "" || strings.Contains(target, ":") || strings.HasPrefix(target, "/") || told[path.Clean(target)] {
				continue
			}
			target = path.Clean(target)
			if d.paths[strings.ToLower(target)] == "" && !d.folder(target) {
				told[target] = true
				d.add(i+1, "the skill has no file "+shown(target))
			}
		}
	}
}

// folder reports whether a path is a folder of the skill.
func (d *diagnosis) folder(name string) bool {
	for low := range d.paths {
		if strings.HasPrefix(low, strings.ToLower(name)+"/") {
			return true
		}
	}
	return false
}
