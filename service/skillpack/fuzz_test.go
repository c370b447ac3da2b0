package skillpack_test

import (
	"testing"

	"github.com/braidrun/braid/blob"
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
		blobs := &blob.Memory{}
		spec, err := skillpack.NewStore(blobs).Put(t.Context(), "acme", "place", s)
		if err != nil {
			return
		}
		for _, file := range spec.Files {
			if err := workspace.CheckPath("fuzz", file.Path); err != nil {
				t.Error(err)
			}
		}
		if workspace.CheckPath("fuzz", s.Name) != nil || len(spec.Files) > skillpack.MostFiles {
			t.Errorf("%q has %d files", s.Name, len(spec.Files))
		}
	})
}
