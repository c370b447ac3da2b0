package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
)

// Set is a set of skills by name. It is immutable and safe for concurrent use. The zero value is
// empty. It reads files when they are requested, so that a skill may be edited while agents use it.
// Names and descriptions are those at the time of loading.
type Set struct {
	list      []loaded
	preferred []string
	// put is where the tool copies files; nil means nowhere.
	put Put
}

type loaded struct {
	Skill
	// dir is the absolute path of the folder of skills, so that it does not depend on the working
	// directory. It is empty for a stored skill.
	dir string
	// stored opens the files of a stored skill.
	stored func(ctx context.Context) (fs.FS, error)
}

// Load reads the skills in folders of skills: each folder in them with a SKILL.md is a skill. Of
// two skills with one name it takes the one in the first folder. The problems say what was not
// loaded and why, in the order in which it was found. The other skills work without it. The set is
// never nil.
func Load(dirs ...string) (*Set, []Problem) {
	s := &Set{}
	var problems []Problem
	from := map[string]string{}
	size := 0
	for _, dir := range dirs {
		found, bad := loadDir(dir)
		problems = append(problems, bad...)
		for i := range found {
			one := &found[i]
			size += len(one.Name) + len(one.Description)
			var err error
			switch first, twice := from[one.Name]; {
			case twice && first == one.dir:
				continue // the folder was given twice
			case twice:
				err = &event.Error{
					Kind: event.ErrConflict, Message: "an earlier folder has a skill of that name, which is taken",
					Hint: "rename one of them, or change the order of the folders",
				}
			case len(s.list) == MaxSkills || size > MaxList:
				err = &event.Error{
					Kind: event.ErrTooLarge, Message: "there are more skills than a model is told of",
					Hint: fmt.Sprintf("give an agent at most %d skills, with descriptions of at most %d KiB together", MaxSkills, MaxList>>10),
				}
			}
			if err != nil {
				size -= len(one.Name) + len(one.Description)
				problems = append(problems, Problem{Dir: dir, Folder: one.Name, Err: err})
				continue
			}
			from[one.Name] = one.dir
			s.list = append(s.list, *one)
		}
	}
	slices.SortStableFunc(s.list, func(a, b loaded) int { return strings.Compare(a.Name, b.Name) })
	return s, problems
}

// loadDir reads one folder of skills.
func loadDir(dir string) (found []loaded, problems []Problem) {
	fail := func(folder string, err error) {
		problems = append(problems, Problem{Dir: dir, Folder: folder, Err: err})
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		fail("", noFolder(err))
		return nil, problems
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		fail("", noFolder(err))
		return nil, problems
	}
	defer root.Close()
	list, all, err := entries(root, ".", maxEntries)
	if err != nil {
		fail("", noFolder(err))
		return nil, problems
	}
	if !all {
		fail("", &event.Error{
			Kind: event.ErrTooLarge, Message: fmt.Sprintf("the folder of skills has more than %d entries, and not all were looked at", maxEntries),
			Hint: "name a folder that holds skills alone",
		})
	}
	for _, e := range list {
		switch name := e.Name(); {
		case name == File:
			fail("", invalid("the folder of skills is a skill itself", "name the folder that it stands in"))
		case strings.HasPrefix(name, "."), !folder(root, e):
		default:
			one, err := loadOne(root, name)
			if err != nil {
				fail(name, err)
				continue
			}
			found = append(found, loaded{Skill: one, dir: whole})
		}
	}
	return found, problems
}

// folder reports whether an entry may be a skill: a folder, a link to one, or an unknown entry.
func folder(root *os.Root, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := root.Stat(e.Name())
	return err != nil || info.IsDir()
}

func noFolder(err error) error {
	e := &event.Error{
		Kind: event.ErrPermission, Message: "the folder of skills cannot be read", Hint: "name a folder that holds skills", Err: err,
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Kind, e.Message = event.ErrNotFound, "there is no such folder of skills"
	}
	return e
}

func loadOne(root *os.Root, name string) (Skill, error) {
	own, err := root.OpenRoot(name)
	if err != nil {
		return Skill{}, &event.Error{
			Kind: event.ErrPermission, Message: "the folder cannot be opened", Err: err,
			Hint: "a link has to lead to a folder among the same skills; name the folder itself in any other case",
		}
	}
	defer own.Close()
	data, err := skillFile(rootContent{own})
	if err != nil {
		return Skill{}, err
	}
	s, _, err := Parse(name, data)
	return s, err
}

// skillFile reads the SKILL.md of an open folder.
func skillFile(own content) ([]byte, error) {
	data, whole, err := own.read(File, MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		list, _, _ := own.entries(".", maxEntries)
		for _, e := range list {
			if strings.EqualFold(e.Name(), File) {
				return nil, &event.Error{
					Kind: event.ErrNotFound, Message: "its file is called " + shown(e.Name()), Hint: "call it " + File,
				}
			}
		}
		return nil, &event.Error{Kind: event.ErrNotFound, Message: "it has no " + File, Hint: "add one, or move the folder elsewhere"}
	case err != nil:
		return nil, &event.Error{
			Kind: event.ErrPermission, Message: File + " cannot be read", Err: err,
			Hint: "name a file inside the skill's folder; links out of it are not followed",
		}
	case !whole:
		return nil, tooLarge(File, MaxFile)
	}
	return data, nil
}

// Skills returns the skills by name.
func (s *Set) Skills() []Skill {
	list := make([]Skill, len(s.list))
	for i := range s.list {
		list[i] = s.list[i].Skill
	}
	return list
}

// Prefer returns a set of the same skills in which the named ones are to be used first, in this
// order. It returns an error of kind ErrNotFound for an unknown name. It does not change s.
func (s *Set) Prefer(names ...string) (*Set, error) {
	p := &Set{list: s.list, put: s.put}
	for _, name := range names {
		if _, err := s.find(name); err != nil {
			return nil, err
		}
		if !slices.Contains(p.preferred, name) {
			p.preferred = append(p.preferred, name)
		}
	}
	return p, nil
}

func (s *Set) find(name string) (*loaded, error) {
	all := make([]string, len(s.list))
	for i := range s.list {
		if s.list[i].Name == name {
			return &s.list[i], nil
		}
		all[i] = s.list[i].Name
	}
	e := &event.Error{Kind: event.ErrNotFound, Message: fmt.Sprintf("there is no skill %q", shown(name)), Hint: "there are none"}
	if len(all) > 0 {
		e.Hint = "there are " + strings.Join(all[:min(len(all), 20)], ", ")
		if len(all) > 20 {
			e.Hint += " and others"
		}
	}
	if n := nearest.Word(name, all); n != "" {
		e.Hint = "did you mean " + n + "? " + e.Hint
	}
	return nil, e
}

// open opens the skill's folder.
func (l *loaded) open(ctx context.Context) (content, error) {
	if l.stored != nil {
		from, err := l.stored(ctx)
		return fsContent{from}, err
	}
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, gone(err)
	}
	defer root.Close()
	own, err := root.OpenRoot(l.Name)
	if err != nil {
		return nil, gone(err)
	}
	return rootContent{own}, nil
}

func gone(err error) error {
	return &event.Error{
		Kind: event.ErrNotFound, Message: "the skill's folder is no longer there", Hint: "go on without this skill", Err: err,
	}
}
