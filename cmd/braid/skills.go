package main

import (
	"errors"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/skill"
)

// loadSkills reads the folders of the option. A folder that cannot be read is an error. A skill that cannot
// be read is a warning.
func loadSkills(s *conf.Settings, warn func(skill.Problem)) (*skill.Set, error) {
	set, problems := skill.Load(s.Skills...)
	for _, p := range problems {
		if p.Folder == "" && !errors.Is(p.Err, event.ErrTooLarge) {
			return nil, p.Err
		}
		warn(p)
	}
	return set, nil
}
