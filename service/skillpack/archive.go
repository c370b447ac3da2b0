package skillpack

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"time"

	"github.com/braidrun/braid/service/directory"
)

// stamp is the time of every file in an archive, so that an archive depends on its files alone.
var stamp = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// Write writes the skill's archive: its files in the order of their paths, in a folder with its name. The
// files are not compressed, because the output of a compressor differs between versions. It completes the
// spec.
func (s *Skill) Write(w io.Writer) error {
	archive := zip.NewWriter(w)
	s.spec.Files = make([]directory.SkillFile, 0, len(s.files))
	for i := range s.files {
		if err := s.writeFile(archive, &s.files[i]); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (s *Skill) writeFile(archive *zip.Writer, f *file) error {
	head := &zip.FileHeader{Name: s.Name + "/" + f.path, Method: zip.Store, Modified: stamp}
	mode := fs.FileMode(0o644)
	if f.runs {
		mode = 0o755
	}
	head.SetMode(mode)
	into, err := archive.CreateHeader(head)
	if err != nil {
		return err
	}
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(into, sum), r)
	if err != nil {
		return err
	}
	s.spec.Files = append(s.spec.Files, directory.SkillFile{Path: f.path, Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}
