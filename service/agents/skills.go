package agents

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/workspace"
)

// runSkills are the skills of a run: the server's and its tenant's. A tenant's skill takes the place of a
// server's with the same name.
type runSkills struct {
	set *skill.Set
	// inactive are the names of the tenant's skills that are not active.
	inactive []string
	// accepted reports that the run was accepted before.
	accepted bool
}

func newRunSkills(servers *skill.Set, r *service.AgentRequest) runSkills {
	s := runSkills{accepted: r.Place.Accepted}
	var stored []skill.Stored
	files := r.Parts.SkillFiles
	for i := range r.Parts.Skills {
		of := &r.Parts.Skills[i]
		if of.Status != directory.Active || files == nil {
			s.inactive = append(s.inactive, of.ID)
			continue
		}
		stored = append(stored, skill.Stored{
			Skill: skill.Skill{
				Name: of.ID, Description: of.Description, License: of.License, Compatibility: of.Compatibility, AllowedTools: of.AllowedTools,
			},
			Open: func(ctx context.Context) (fs.FS, error) { return files.Open(ctx, of) },
		})
	}
	s.set = servers.With(stored...)
	return s
}

func (s *runSkills) has(name string) bool {
	return slices.ContainsFunc(s.set.Skills(), func(k skill.Skill) bool { return k.Name == name })
}

// chosen returns the skills of an agent. prefer are those that the request prefers. The agent's patterns
// of tools may exclude the tool that reads skills, and then it has none.
func (s *runSkills) chosen(o *service.AgentOptions, prefer []string) (*skill.Set, error) {
	without := o.Tools != nil && !matches(skill.ToolName, o.Tools)
	names := make([]string, 0, len(prefer)+len(o.Skills))
	for _, name := range prefer {
		switch {
		case !without && s.has(name):
			names = append(names, name)
		case !s.accepted: // a run that was accepted goes on without it
			return nil, s.unknown(name, without)
		}
	}
	if without {
		return &skill.Set{}, nil
	}
	for _, name := range o.Skills { // skills that the agent prefers may have been removed
		if s.has(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return s.set, nil
	}
	return s.set.Prefer(names...)
}

// unknown returns the error for a preferred skill that the agent does not have. It is not
// [event.ErrNotFound], because the route exists.
func (s *runSkills) unknown(name string, without bool) error {
	e := &event.Error{Kind: event.ErrUnsupported, Code: "SKILL_UNKNOWN", Hint: "leave preferred_skills out"}
	switch {
	case len(s.set.Skills())+len(s.inactive) == 0:
		e.Message = "there are no skills here"
	case without:
		e.Message = "this agent has no skills"
	case slices.Contains(s.inactive, name):
		e.Message = "the skill " + strconv.Quote(name) + " is not active"
		e.Hint = "make it active, or leave it out of preferred_skills"
	default:
		_, err := s.set.Prefer(name)
		if cause, ok := errors.AsType[*event.Error](err); ok {
			e.Message, e.Hint = cause.Message, cause.Hint
		}
	}
	return e
}

// intoWorkspace stores a file of a skill in the workspace of the calling run's conversation. It is a
// [skill.Put].
func intoWorkspace(ctx context.Context, path string, r io.Reader) error {
	files, err := service.WorkspaceOf(ctx)
	if err == nil && files == nil {
		err = &event.Error{Kind: event.ErrUnsupported, Message: "this run has no workspace", Hint: "read the files of the skill instead"}
	}
	if err != nil {
		return err
	}
	_, err = files.Put(ctx, path, r, workspace.Condition{})
	return err
}

// skillNames are the names of the server's own skills.
func (a *Factory) skillNames() (names []string) {
	for _, s := range a.skills.Skills() {
		names = append(names, s.Name)
	}
	return names
}

// skillTools are the tools of any set of skills. Agents may name them although the server has no skills:
// their tenants may have some.
var skillTools = (&skill.Set{}).With(skill.Stored{Skill: skill.Skill{Name: "any"}}).Tools()
