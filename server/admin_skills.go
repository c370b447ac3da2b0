package server

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
)

// skillFields are the writable fields of a skill beside its files.
type skillFields struct {
	Status directory.Status `json:"status,omitempty"`
}

// uploadSkill stores a skill from a zip archive, or from a form with its files.
func (s *Server) uploadSkill(w http.ResponseWriter, r *http.Request) error {
	write, err := skillWrite(r)
	if err != nil {
		door.Drop(w, r)
		return err
	}
	kind, values, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/zip" && kind != "multipart/form-data" {
		door.Drop(w, r)
		return &statusError{
			http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "the body is neither a zip archive nor a form",
			"send the skill's folder as application/zip or multipart/form-data",
		}
	}
	begun := time.Now()
	data, err := door.ReadBody(w, r, s.hold(w, r), s.options.BodyBytes)
	if err != nil {
		return err
	}
	if time.Since(begun) > directory.Stale {
		// The credential of a slow sender may have ended meanwhile.
		if _, err := s.door.Open(r.Context(), bearer(r)); err != nil {
			return err
		}
	}
	var upload *skillpack.Skill
	if kind == "application/zip" {
		upload, err = skillpack.FromZip(data)
	} else {
		upload, err = skillpack.FromForm(data, values["boundary"])
	}
	if err != nil {
		return err
	}
	out, stored, err := s.service.PutSkill(r.Context(), by(r), tenantOf(r), upload, write)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if stored && out.Version == 1 {
		status = http.StatusCreated
		w.Header().Set("Location", s.adminAt(r, "skills", out.ID))
	}
	return kept(w, status, out.Revision, out)
}

// skillWrite reads the conditions of an upload.
func skillWrite(r *http.Request) (write directory.SkillWrite, err error) {
	if write.Revision, err = revision(r); err != nil {
		return write, err
	}
	if none := r.Header.Get("If-None-Match"); none != "" {
		if write.New = none == "*"; !write.New {
			return write, front.Bad("the header If-None-Match is not *", "send If-None-Match: * to store a new skill only")
		}
	}
	return write, nil
}

func (s *Server) listSkills(w http.ResponseWriter, r *http.Request) error {
	return listed(w, r, func(q directory.Query) ([]directory.Skill, string, error) {
		return s.options.Directory.ListSkills(r.Context(), tenantOf(r), q)
	})
}

// skill returns the skill that an address names, in the version that it names.
func (s *Server) skill(r *http.Request) (directory.Skill, error) {
	version := 0
	if text := r.PathValue("version"); text != "" {
		n, err := strconv.Atoi(text)
		if version = n; err != nil || n < 1 {
			version = -1 // no version has this number
		}
	}
	return s.options.Directory.GetSkill(r.Context(), tenantOf(r), r.PathValue("skill"), version)
}

func (s *Server) getSkill(w http.ResponseWriter, r *http.Request) error {
	skill, err := s.skill(r)
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, skill.Revision, skill)
}

func (s *Server) getSkillVersion(w http.ResponseWriter, r *http.Request) error {
	skill, err := s.skill(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, skill)
	return nil
}

func (s *Server) readSkill(w http.ResponseWriter, r *http.Request) error {
	skill, err := s.skill(r)
	if err != nil {
		return err
	}
	archive, err := s.service.SkillArchive(r.Context(), &skill)
	if err != nil {
		return err
	}
	defer archive.Close()
	// The first bytes are read before the head is sent, so that a damaged archive is an error.
	first := make([]byte, min(skill.ArchiveBytes, int64(copied)))
	if _, err := io.ReadFull(archive, first); err != nil {
		return err
	}
	head := w.Header()
	head.Set("Content-Type", "application/zip")
	head.Set("Content-Disposition", dispositionOf(skill.ID+".zip"))
	head.Set("ETag", strconv.Quote(skill.SHA256))
	head.Set("Content-Length", strconv.FormatInt(skill.ArchiveBytes, 10))
	return s.send(w, io.MultiReader(bytes.NewReader(first), archive))
}

func (s *Server) listSkillVersions(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	list, next, err := s.options.Directory.ListSkillVersions(
		r.Context(), tenantOf(r), r.PathValue("skill"), directory.Query{Cursor: values["cursor"], Limit: int(limit)},
	)
	if err != nil {
		return err
	}
	return answerPage(w, list, next)
}

func (s *Server) updateSkill(w http.ResponseWriter, r *http.Request) error {
	patch, err := s.readPatch(w, r)
	if err != nil {
		return err
	}
	read, err := revision(r)
	if err != nil {
		return err
	}
	skill, err := s.options.Directory.UpdateSkill(r.Context(), by(r), tenantOf(r), r.PathValue("skill"), read, func(k *directory.Skill) error {
		fields, err := merge(skillFields{k.Status}, patch)
		k.Status = fields.Status
		return err
	})
	if err != nil {
		return err
	}
	return kept(w, http.StatusOK, skill.Revision, skill)
}

func (s *Server) deleteSkill(w http.ResponseWriter, r *http.Request) error {
	read, err := revision(r)
	if err != nil {
		return err
	}
	force, err := forced(r)
	if err != nil {
		return err
	}
	if err := s.service.DeleteSkill(r.Context(), by(r), tenantOf(r), r.PathValue("skill"), read, force...); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
