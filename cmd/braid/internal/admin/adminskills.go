package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// mostArchive bounds an archive that is uploaded as it is.
const mostArchive = 64 << 20

// uploadSkill uploads a folder, or a zip archive of one.
func (a *admin) uploadSkill(ctx context.Context, path string) error {
	archive, err := skillArchive(path)
	if err != nil {
		return err
	}
	read, err := a.revision()
	if err != nil {
		return err
	}
	skill, err := a.client.UploadSkill(ctx, a.tenant, archive, read)
	if err != nil {
		return err
	}
	for _, d := range skill.Diagnostics {
		fmt.Fprintln(a.p.Stderr, term.CleanLine("note: "+placeOf(&d)+d.Message))
	}
	return a.showOne(skill)
}

func placeOf(d *client.SkillDiagnostic) string {
	switch {
	case d.File == "":
		return ""
	case d.Line == 0:
		return d.File + ": "
	}
	return fmt.Sprintf("%s, line %d: ", d.File, d.Line)
}

// skillArchive returns the archive of a folder, or the archive that a file is.
func skillArchive(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, term.Invalid("name the folder of a skill, or a zip archive of it", "there is no %q", term.Fit(path, 60))
	}
	if err != nil || info.IsDir() {
		return client.ZipSkill(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "the archive cannot be read", Hint: "name the folder of a skill, or a zip archive of it", Err: err,
		}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostArchive+1))
	if err != nil {
		return nil, &event.Error{Kind: event.ErrInvalid, Message: "the archive cannot be read", Hint: "try again", Err: err}
	}
	if len(data) > mostArchive {
		return nil, &event.Error{
			Kind: event.ErrTooLarge, Message: "the archive is larger than 64 MiB", Hint: "leave out what the skill does not need",
		}
	}
	return data, nil
}

func (a *admin) listSkills(ctx context.Context, _ string) error {
	return showList(a, a.client.Skills(ctx, a.tenant, a.listed()), []string{"NAME", "STATUS", "VERSION", "FILES", "SHA256", "DESCRIPTION"},
		func(s *client.Skill) []string {
			return []string{s.ID, s.Status, strconv.Itoa(s.Version), strconv.Itoa(len(s.Files)), digest(s.SHA256), s.Description}
		})
}

// digest shortens a digest for a table.
func digest(sum string) string { return sum[:min(len(sum), 12)] }

// skillVersion returns the version that a flag names; 0 if there is none.
func (a *admin) skillVersion() (version int, err error) {
	if text, given := a.in.Flags["version"]; given {
		if err := conf.ParseCount(&version, text); err != nil {
			return 0, term.Invalid("braid admin skill versions lists them", "--version: %q %s", term.Fit(text, 40), err)
		}
	}
	return version, nil
}

func (a *admin) showSkill(ctx context.Context, id string) error {
	version, err := a.skillVersion()
	if err != nil {
		return err
	}
	s, err := a.client.Skill(ctx, a.tenant, id, version)
	if err != nil {
		return err
	}
	return a.showOne(s)
}

func (a *admin) listSkillVersions(ctx context.Context, id string) error {
	return showList(a, a.client.SkillVersions(ctx, a.tenant, id), []string{"VERSION", "CREATED", "FILES", "SHA256"},
		func(v *client.SkillVersion) []string {
			return []string{strconv.Itoa(v.Version), when(v.CreatedAt), strconv.Itoa(len(v.Files)), digest(v.SHA256)}
		})
}

// downloadSkill writes a skill's archive into a new file, or to standard output.
func (a *admin) downloadSkill(ctx context.Context, id string) (err error) {
	version, err := a.skillVersion()
	if err != nil {
		return err
	}
	name := cmp.Or(a.in.Flags["out"], id+".zip")
	if name == "-" {
		if a.screen.Terminal {
			return term.Invalid("name a file with --out", "an archive is not written to a terminal")
		}
		return a.client.SkillArchive(ctx, a.tenant, id, version, a.p.Stdout)
	}
	if strings.ContainsAny(id, `/\`) && a.in.Flags["out"] == "" {
		return term.Invalid("braid admin skill list lists them", "%q is no name of a skill", term.Fit(id, 60))
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return term.Invalid("name another one with --out", "the file %q exists, or cannot be made", term.Fit(name, 60))
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			_ = os.Remove(name) // the first error is the one that matters
		}
	}()
	return a.client.SkillArchive(ctx, a.tenant, id, version, f)
}

func (a *admin) patchSkill(ctx context.Context, id, status string) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	s, err := a.client.UpdateSkill(ctx, a.tenant, id, read, client.Patch{"status": status})
	if err != nil {
		return err
	}
	return a.showOne(s)
}

func (a *admin) activateSkill(ctx context.Context, id string) error {
	return a.patchSkill(ctx, id, client.Active)
}

func (a *admin) deactivateSkill(ctx context.Context, id string) error {
	return a.patchSkill(ctx, id, client.Inactive)
}

func (a *admin) deleteSkill(ctx context.Context, id string) error {
	read, err := a.revision()
	if err != nil {
		return err
	}
	return a.client.DeleteSkill(ctx, a.tenant, id, read, a.force()...)
}
