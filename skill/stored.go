package skill

import (
	"context"
	"io/fs"
	"slices"
	"strings"
)

// Stored is a skill whose files are not in a folder of this machine, for example in a database.
type Stored struct {
	Skill

	// Open returns the skill's files by their paths in the skill's folder, with its SKILL.md. The tool
	// calls it for each use. ctx is for reading them, too. Its errors are shown to the model. It must be
	// safe for concurrent use.
	Open func(ctx context.Context) (fs.FS, error)
}

// With returns a set that has stored skills too. One with the name of a skill of s takes its place, and
// of two with one name the first one counts. Names and descriptions come from the caller, who bounds
// them; [MaxSkills] and [MaxList] apply to [Load] only. It does not change s.
func (s *Set) With(stored ...Stored) *Set {
	if len(stored) == 0 {
		return s
	}
	out := &Set{list: make([]loaded, 0, len(s.list)+len(stored)), preferred: s.preferred, put: s.put}
	taken := make(map[string]bool, len(stored))
	for i := range stored {
		one := &stored[i]
		if taken[one.Name] {
			continue
		}
		taken[one.Name] = true
		out.list = append(out.list, loaded{Skill: one.Skill, stored: one.Open})
	}
	for i := range s.list {
		if !taken[s.list[i].Name] {
			out.list = append(out.list, s.list[i])
		}
	}
	slices.SortFunc(out.list, func(a, b loaded) int { return strings.Compare(a.Name, b.Name) })
	return out
}
