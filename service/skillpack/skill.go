package skillpack

import (
	"io"
	"path"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/skill"
)

// Skill is an upload that was checked.
type Skill struct {
	// Name is the name in its SKILL.md.
	Name string
	// spec lacks what is known once the archive is written.
	spec  directory.SkillSpec
	files []file
}

// Bytes returns how many bytes its files have.
func (s *Skill) Bytes() (n int64) {
	for i := range s.files {
		n += s.files[i].size
	}
	return n
}

// fromFiles finds the skill in the files of an upload, and reads its SKILL.md.
func fromFiles(c *collector) (*Skill, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	folder, err := strip(c.files)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	at := slices.IndexFunc(c.files, func(f file) bool { return f.path == skill.File })
	text, err := read(&c.files[at])
	if err != nil {
		return nil, err
	}
	front, _, err := skill.Parse(folder, text)
	if err != nil {
		return nil, inFile(skill.File, err)
	}
	return &Skill{
		Name: front.Name, files: c.files, spec: directory.SkillSpec{
			Description: front.Description, License: front.License, Compatibility: front.Compatibility, AllowedTools: front.AllowedTools,
			Metadata: front.Metadata, Diagnostics: diagnose(&front, string(text), c),
		},
	}, nil
}

// strip makes the paths relative to the skill's folder, and returns its name; "" if the upload has the
// files of the folder without its name.
func strip(files []file) (folder string, err error) {
	if len(files) == 0 {
		return "", noSkill("the upload has no files")
	}
	var at []string // where there is a SKILL.md
	for _, f := range files {
		switch dir, name := path.Split(f.path); {
		case name == skill.File:
			at = append(at, strings.TrimSuffix(dir, "/"))
		case strings.EqualFold(name, skill.File) && strings.Count(dir, "/") <= 1:
			return "", invalid("call it "+skill.File, "the file %s has another name than "+skill.File, shown(f.path))
		}
	}
	if slices.Contains(at, "") {
		return "", nil
	}
	top := slices.DeleteFunc(slices.Clone(at), func(dir string) bool { return strings.Contains(dir, "/") })
	switch {
	case len(top) > 1:
		return "", invalid("upload each folder for itself", "there are several skills: %s and %s", shown(top[0]), shown(top[1]))
	case len(top) == 0 && len(at) > 0:
		return "", noSkill("the " + skill.File + " is not at the top, but in " + shown(at[0]))
	case len(top) == 0:
		return "", noSkill("there is no " + skill.File)
	}
	folder = top[0]
	for i := range files {
		within, ok := strings.CutPrefix(files[i].path, folder+"/")
		if !ok {
			return "", invalid("upload the skill's folder alone", "the file %s is outside the skill's folder %s", shown(files[i].path), shown(folder))
		}
		files[i].path = within
	}
	return folder, nil
}

func noSkill(what string) error {
	return invalid("upload the folder with the "+skill.File+" of one skill", "%s", what)
}

// read reads a SKILL.md.
func read(f *file) ([]byte, error) {
	if f.size > skill.MaxFile {
		return nil, inFile(skill.File, &event.Error{
			Kind: event.ErrTooLarge, Message: "it is larger than 256 KiB", Hint: "put a part of it into files of its own",
		})
	}
	r, err := f.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
