package skillpack_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/braidrun/braid/service/skillpack"
	"github.com/braidrun/braid/workspace"
)

// Whatever is uploaded is refused with an error, or is a skill whose paths stay in its folder.
func FuzzFromZip(f *testing.F) {
	f.Add(zipped(f, report("report/")...))
	f.Add(zipped(f, report("")...))
	f.Add(zipped(f, file{"../SKILL.md", written("x", ""), 0}))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := skillpack.FromZip(data)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if s.Write(&out) != nil {
			return // it is damaged
		}
		r, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil || len(r.File) > skillpack.MostFiles {
			t.Fatal(len(r.File), err)
		}
		for _, e := range r.File {
			within, ok := strings.CutPrefix(e.Name, s.Name+"/")
			if err := workspace.CheckPath("fuzz", within); !ok || err != nil || workspace.CheckPath("fuzz", s.Name) != nil {
				t.Errorf("%q is in %q: %v", e.Name, s.Name, err)
			}
		}
		if again, err := skillpack.FromZip(out.Bytes()); err != nil || again.Name != s.Name {
			t.Errorf("its own archive is refused: %v", err)
		}
	})
}
