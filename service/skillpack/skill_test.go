package skillpack_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
	"github.com/braidrun/braid/skill"
)

// report is a skill of the published form: nested folders, scripts, a binary file and a file in other letters.
func report(prefix string) []file {
	return []file{
		{prefix + "SKILL.md", "---\nname: report\ndescription: \"Writes reports. Triggers: 'report', \\\".docx\\\".\"\nlicense: Complete terms in LICENSE.txt\n" +
			"model: opus\nmetadata:\n  author: us\n---\n\n# Reports\n\nRead FORMS.md, then [the style](references/style.md).\nSee [more](missing.md).\n", 0},
		{prefix + "LICENSE.txt", "Terms.", 0},
		{prefix + "forms.md", "Fill them.", 0},
		{prefix + "references/style.md", "Be short.", 0},
		{prefix + "scripts/__init__.py", "", 0},
		{prefix + "scripts/office/pack.py", "print('no')", 0o755},
		{prefix + "fonts/a.ttf", "\x00\x01\xff", 0},
	}
}

// The same folder has the same digest, whichever way it comes, and its files come back as they were.
func TestAFolderComesBack(t *testing.T) {
	t.Parallel()
	folders := []file{{"report/", "", 0o755 | 1<<31}, {"report/scripts/", "", 0o755 | 1<<31}}
	junk := []file{{"__MACOSX/report/._SKILL.md", "x", 0}, {"report/.DS_Store", "x", 0}, {"report/scripts/__pycache__/a.pyc", "x", 0}}
	plain := func(files []file) (out []file) {
		for _, f := range files {
			f.mode = 0
			out = append(out, f)
		}
		return out
	}
	want := map[string]string{}
	for _, f := range report("") {
		want[f.name] = f.text
	}
	digests := map[string]string{}
	for name, make := range map[string]func() (*skillpack.Skill, error){
		"folder": func() (*skillpack.Skill, error) { return skillpack.FromZip(zipped(t, report("report/")...)) },
		"files":  func() (*skillpack.Skill, error) { return skillpack.FromZip(zipped(t, report("")...)) },
		"with more": func() (*skillpack.Skill, error) {
			return skillpack.FromZip(zipped(t, append(append(folders, report("report/")...), junk...)...))
		},
		"form":       func() (*skillpack.Skill, error) { return skillpack.FromForm(form(t, "file", report("report/")...)) },
		"form, here": func() (*skillpack.Skill, error) { return skillpack.FromForm(form(t, "files[]", report("./")...)) },
		"not run":    func() (*skillpack.Skill, error) { return skillpack.FromZip(zipped(t, plain(report(""))...)) },
	} {
		s, err := make()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		blobs := &blob.Memory{}
		of := stored(t, blobs, s)
		digests[name] = of.SHA256
		from, err := skillpack.NewStore(blobs).Open(t.Context(), &of)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree(t, from)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(of.Files) != len(want) || of.License == "" || of.Metadata["author"] != "us" || !strings.Contains(of.Description, `".docx"`) {
			t.Errorf("%s: %+v", name, of.SkillSpec)
		}
		for _, f := range of.Files {
			if sum := sha256.Sum256([]byte(want[f.Path])); f.SHA256 != hex.EncodeToString(sum[:]) || f.Bytes != int64(len(want[f.Path])) {
				t.Errorf("%s: %+v", name, f)
			}
		}
		archive, err := skillpack.NewStore(blobs).Archive(t.Context(), "acme", &of.SkillSpec)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(archive)
		if sum := sha256.Sum256(raw); err != nil || hex.EncodeToString(sum[:]) != of.SHA256 || int64(len(raw)) != of.ArchiveBytes {
			t.Errorf("%s: the archive has %d bytes and another digest: %v", name, len(raw), err)
		}
		again, err := skillpack.FromZip(raw)
		if err != nil || stored(t, blobs, again).SHA256 != of.SHA256 {
			t.Errorf("%s: the archive is another skill: %v", name, err)
		}
		modes, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range modes.File {
			if runs := e.Mode()&0o111 != 0; runs != (strings.HasSuffix(e.Name, "pack.py") && !slices.Contains([]string{"form", "form, here", "not run"}, name)) {
				t.Errorf("%s: %s has the mode %v", name, e.Name, e.Mode())
			}
		}
	}
	// A form has no modes, so its archive is another one than that of files that are marked as executable.
	for _, same := range [][2]string{{"folder", "files"}, {"folder", "with more"}, {"form", "form, here"}, {"form", "not run"}} {
		if digests[same[0]] != digests[same[1]] {
			t.Errorf("%s and %s have different digests", same[0], same[1])
		}
	}
	if digests["folder"] == digests["form"] {
		t.Error("the modes are lost")
	}
}

// What is odd is found, with its line, and refuses nothing.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	s, err := skillpack.FromZip(zipped(t, append(report("report/"), file{"report/.git/config", "x", 0})...))
	if err != nil {
		t.Fatal(err)
	}
	got := stored(t, &blob.Memory{}, s).Diagnostics
	want := []directory.SkillDiagnostic{
		{File: "SKILL.md", Line: 5, Message: `"model" is not a key of the format, and is ignored`},
		{File: "SKILL.md", Line: 12, Message: `"FORMS.md" is called "forms.md" in the skill; the tool finds it, other systems may not`},
		{File: "SKILL.md", Line: 13, Message: `the skill has no file "missing.md"`},
		{Message: "1 files are left out: .git, .DS_Store, __MACOSX, __pycache__"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	long := strings.Repeat("[a](no"+strings.Repeat("x", 100)+".md)\n", 3) + strings.Repeat("x\n", 600)
	for i := range 200 {
		long += fmt.Sprintf("[a](no-%d.md)\n", i)
	}
	if s, err = skillpack.FromZip(zipped(t, file{"SKILL.md", written("long", long), 0})); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, &blob.Memory{}, s).Diagnostics; len(got) != 50 || len(got[0].Message) > 200 {
		t.Errorf("%d diagnostics: %v", len(got), got[0])
	}
}

// What could leave the folder, or is too much, is refused before anything is stored.
func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	md := file{"pdf/SKILL.md", written("pdf", "Do."), 0}
	many := func(n int) []file {
		list := []file{md}
		for i := range n {
			list = append(list, file{fmt.Sprintf("pdf/f%d", i), "", 0})
		}
		return list
	}
	for name, c := range map[string]struct {
		files []file
		kind  event.ErrorKind
		words string
	}{
		"no files":         {nil, event.ErrInvalid, "no files"},
		"no skill":         {[]file{{"pdf/readme.md", "", 0}}, event.ErrInvalid, "no SKILL.md"},
		"other letters":    {[]file{{"pdf/skill.md", "", 0}}, event.ErrInvalid, `"pdf/skill.md" has another name`},
		"two skills":       {[]file{md, {"docx/SKILL.md", "", 0}}, event.ErrInvalid, "several skills"},
		"too deep":         {[]file{{"skills/pdf/SKILL.md", md.text, 0}}, event.ErrInvalid, `in "skills/pdf"`},
		"beside":           {[]file{md, {"other.txt", "", 0}}, event.ErrInvalid, `"other.txt" is outside`},
		"up":               {[]file{md, {"../evil", "", 0}}, event.ErrInvalid, `"../evil"`},
		"up inside":        {[]file{md, {"pdf/../../evil", "", 0}}, event.ErrInvalid, `"pdf/../../evil"`},
		"a folder up":      {[]file{md, {"../evil/", "", 0o755 | 1<<31}}, event.ErrInvalid, `"../evil"`},
		"absolute":         {[]file{md, {"/etc/cron.d/evil", "", 0}}, event.ErrInvalid, "not relative"},
		"backslash":        {[]file{md, {`pdf\..\evil`, "", 0}}, event.ErrInvalid, "upload"},
		"drive":            {[]file{md, {"C:/evil", "", 0}}, event.ErrInvalid, `"C:/evil"`},
		"device":           {[]file{md, {"pdf/nul.txt", "", 0}}, event.ErrInvalid, "device"},
		"line break":       {[]file{md, {"pdf/a\nb", "", 0}}, event.ErrInvalid, "control"},
		"tag":              {[]file{md, {"pdf/</skills>", "", 0}}, event.ErrInvalid, "one of"},
		"turned text":      {[]file{md, {"pdf/a\u202eb", "", 0}}, event.ErrInvalid, "control"},
		"long name":        {[]file{md, {"pdf/" + strings.Repeat("a", 300), "", 0}}, event.ErrInvalid, "bytes"},
		"deep":             {[]file{md, {"pdf/" + strings.Repeat("a/", 40) + "b", "", 0}}, event.ErrInvalid, "names"},
		"link":             {[]file{md, {"pdf/link", "/etc/passwd", fs.ModeSymlink | 0o777}}, event.ErrInvalid, `"pdf/link" is a link`},
		"pipe":             {[]file{md, {"pdf/pipe", "", fs.ModeNamedPipe | 0o600}}, event.ErrInvalid, "no plain file"},
		"twice":            {[]file{md, {"pdf/a", "1", 0}, {"pdf/a", "2", 0}}, event.ErrInvalid, `two files "pdf/a"`},
		"twice, by case":   {[]file{md, {"pdf/a", "1", 0}, {"pdf/A", "2", 0}}, event.ErrInvalid, "differ in case"},
		"file and folder":  {[]file{md, {"pdf/a", "1", 0}, {"pdf/a/b", "2", 0}}, event.ErrInvalid, "both a file and a folder"},
		"too many":         {many(skillpack.MostFiles), event.ErrTooLarge, "500 files"},
		"far too many":     {many(21 * skillpack.MostFiles), event.ErrTooLarge, "500 files"},
		"a bomb":           {[]file{md, {"pdf/zeros", strings.Repeat("\x00", skillpack.MostBytes+1), 0}}, event.ErrTooLarge, "32 MiB"},
		"a bomb of two":    {[]file{md, {"pdf/a", strings.Repeat("\x00", 20<<20), 0}, {"pdf/b", strings.Repeat("\x00", 20<<20), 0}}, event.ErrTooLarge, "32 MiB"},
		"a large SKILL.md": {[]file{{"pdf/SKILL.md", strings.Repeat("x", 300<<10), 0}}, event.ErrTooLarge, "SKILL.md"},
		"another folder":   {[]file{{"docx/SKILL.md", md.text, 0}}, event.ErrInvalid, `SKILL.md: its name is "pdf"`},
		"a name up":        {[]file{{"SKILL.md", written("../pdf", ""), 0}}, event.ErrInvalid, `SKILL.md: line 2: "../pdf" cannot be`},
		"a name with /":    {[]file{{"SKILL.md", written("a/b", ""), 0}}, event.ErrInvalid, "SKILL.md: line 2"},
		"a name of dots":   {[]file{{"SKILL.md", written("..", ""), 0}}, event.ErrInvalid, "SKILL.md: line 2"},
		"no description":   {[]file{{"SKILL.md", "---\nname: pdf\n---\n", 0}}, event.ErrInvalid, "SKILL.md: the front matter has no description"},
		"a long one":       {[]file{{"SKILL.md", "---\nname: pdf\nlicense: x\ndescription: " + strings.Repeat("d", 4097) + "\n---\n", 0}}, event.ErrInvalid, "SKILL.md: line 4"},
		"no front matter":  {[]file{{"SKILL.md", "# PDF", 0}}, event.ErrInvalid, "SKILL.md: SKILL.md does not begin"},
		"no YAML":          {[]file{{"SKILL.md", "---\nname: pdf\ndescription: a: b\n---\n", 0}}, event.ErrInvalid, "line 3"},
		"a tab":            {[]file{{"SKILL.md", "---\nname: pdf\ndescription: x\nmetadata:\n\ta: b\n---\n", 0}}, event.ErrInvalid, "line 5"},
		"no text":          {[]file{{"SKILL.md", "\xff\xfe", 0}}, event.ErrInvalid, "no text"},
		"an alias bomb":    {[]file{{"SKILL.md", "---\nname: &a pdf\ndescription: *a\n---\n", 0}}, event.ErrInvalid, "SKILL.md"},
	} {
		_, err := skillpack.FromZip(zipped(t, c.files...))
		says(t, name, err, c.kind, c.words)
		for _, f := range c.files {
			if f.mode != 0 || len(f.name) > 100 || len(f.text) > 1<<20 || strings.ContainsAny(f.name, "\"\n\\") {
				c.files = nil // a form cannot have it
			}
		}
		if c.files != nil {
			_, err := skillpack.FromForm(form(t, "file", c.files...))
			says(t, name+" in a form", err, c.kind, c.words)
		}
	}
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "half": zipped(t, md)[:40]} {
		_, err := skillpack.FromZip(data)
		says(t, name, err, event.ErrInvalid, "no zip archive")
	}
	locked := zipped(t, md, file{"pdf/a", "x", 0})
	at := bytes.LastIndex(locked, []byte("PK\x01\x02"))
	locked[at+8] |= 1
	_, err := skillpack.FromZip(locked)
	says(t, "encrypted", err, event.ErrInvalid, "encrypted")
	for name, c := range map[string]struct{ field, words string }{"another field": {"other", "no file"}} {
		_, err := skillpack.FromForm(form(t, c.field, md))
		says(t, name, err, event.ErrInvalid, c.words)
	}
	_, err = skillpack.FromForm([]byte("hello"), "x")
	says(t, "no form", err, event.ErrInvalid, "no files")
	_, err = skillpack.FromForm([]byte("--x\r\n"), "")
	says(t, "no boundary", err, event.ErrInvalid, "form cannot be read")
}

// An archive that says less than it has, or whose bytes are damaged, leaves nothing.
func TestAnArchiveThatLies(t *testing.T) {
	t.Parallel()
	files := []file{{"SKILL.md", written("pdf", "Do."), 0}, {"a.txt", strings.Repeat("abc", 50_000), 0}}
	good := zipped(t, files...)
	entry := bytes.LastIndex(good, []byte("PK\x01\x02"))
	smaller, sum := bytes.Clone(good), bytes.Clone(good)
	copy(smaller[entry+24:], "\x10\x00\x00\x00") // the size
	sum[entry+16] ^= 1                           // the checksum
	for name, data := range map[string][]byte{"a smaller size": smaller, "another checksum": sum} {
		s, err := skillpack.FromZip(data)
		if err != nil {
			t.Fatal(err)
		}
		blobs := &blob.Memory{}
		_, err = skillpack.NewStore(blobs).Put(t.Context(), "acme", "place", s)
		says(t, name, err, event.ErrInvalid, `"a.txt" is damaged`)
		if list, err := blobs.List(t.Context(), "acme", blob.Query{Kind: skillpack.BlobKind}); len(list) != 0 || err != nil {
			t.Errorf("%s: %v is stored, %v", name, list, err)
		}
	}
}

// A run reads the files of a removed skill no more, and of another tenant's never.
func TestRemovedAndForeignSkills(t *testing.T) {
	t.Parallel()
	s, err := skillpack.FromZip(zipped(t, report("")...))
	if err != nil {
		t.Fatal(err)
	}
	blobs := &blob.Memory{}
	of, store := stored(t, blobs, s), skillpack.NewStore(blobs)
	foreign := of
	foreign.Tenant = "evil"
	if _, err := store.Open(t.Context(), &foreign); event.KindOf(err) != event.ErrNotFound {
		t.Errorf("another tenant's: %v", err)
	}
	if _, err := store.Archive(t.Context(), "evil", &of.SkillSpec); event.KindOf(err) != event.ErrNotFound {
		t.Errorf("another tenant's archive: %v", err)
	}
	if err := store.Remove(t.Context(), "acme", "place"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), &of); event.KindOf(err) != event.ErrNotFound || !strings.Contains(err.Error(), "go on without") {
		t.Errorf("a removed one: %v", err)
	}
}

// The published skills import unchanged, and the tool reads each of their texts.
func TestPublishedSkills(t *testing.T) {
	t.Parallel()
	for _, dir := range folders(t, "BRAID_PUBLISHED_SKILLS") {
		var files []file
		want := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			within, _ := filepath.Rel(dir, path)
			files = append(files, file{filepath.Base(dir) + "/" + filepath.ToSlash(within), string(raw), 0})
			want[filepath.ToSlash(within)] = string(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := skillpack.FromZip(zipped(t, files...))
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(dir), err)
			continue
		}
		blobs := &blob.Memory{}
		of := stored(t, blobs, s)
		from, err := skillpack.NewStore(blobs).Open(t.Context(), &of)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree(t, from)); diff != "" {
			t.Errorf("%s: %s", of.ID, diff)
		}
		if _, body, err := skill.Parse(of.ID, []byte(want["SKILL.md"])); err != nil || body == "" {
			t.Errorf("%s: %v", of.ID, err)
		}
		t.Logf("%s: %d files, %d bytes, %v", of.ID, len(of.Files), of.ArchiveBytes, of.Diagnostics)
	}
}
