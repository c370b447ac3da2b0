package skillpack_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is a file of a test's upload.
type file struct {
	name, text string
	mode       fs.FileMode
}

// written is a SKILL.md.
func written(name, body string) string {
	return "---\nname: " + name + "\ndescription: Does it.\n---\n\n" + body + "\n"
}

// zipped makes an archive.
func zipped(tb testing.TB, files ...file) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		head := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		head.SetMode(max(f.mode, 0o600))
		w, err := z.CreateHeader(head)
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// form makes a form with files, and returns its boundary.
func form(tb testing.TB, field string, files ...file) (body []byte, boundary string) {
	tb.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, f := range files {
		head := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + field + `"; filename="` + f.name + `"`}}
		part, err := w.CreatePart(head)
		if err == nil {
			_, err = io.WriteString(part, f.text)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), w.Boundary()
}

// stored stores a skill, and returns it as a run gets it.
func stored(tb testing.TB, blobs blob.Store, s *skillpack.Skill) directory.Skill {
	tb.Helper()
	spec, err := skillpack.NewStore(blobs).Put(tb.Context(), "acme", "place", s)
	if err != nil {
		tb.Fatal(err)
	}
	return directory.Skill{Tenant: "acme", ID: s.Name, SkillSpec: spec}
}

// tree returns the files of a file system with their contents.
func tree(tb testing.TB, from fs.FS) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(from, path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// says wants an error of the kind with these words, a hint, and no path of the system.
func says(tb testing.TB, what string, err error, kind event.ErrorKind, words string) {
	tb.Helper()
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.Kind != kind || e.Hint == "" || !strings.Contains(e.Message, words) || len(e.Message) > 250 ||
		(kind == event.ErrInvalid) != (e.Code == skillpack.Code) {
		tb.Errorf("%s: %v, want %s with %q and a hint", what, err, kind, words)
	}
}

// folders lists the skills of a folder on this machine, outside of the repository.
func folders(t *testing.T, variable string) (list []string) {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("set %s to a folder of skills, such as a clone of github.com/anthropics/skills, to try them", variable)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*", "SKILL.md"))
	if err != nil || len(list) == 0 {
		t.Fatalf("there are no skills in %s", dir)
	}
	for i := range list {
		list[i] = filepath.Dir(list[i])
	}
	return list
}
