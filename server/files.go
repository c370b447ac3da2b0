package server

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/workspace"
)

// fileBody is a file of a workspace on the wire.
type fileBody struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// Version differs between two contents of a path. It is the entity tag without its quotation marks.
	Version string `json:"version"`
}

// filePage is a part of a list of files. Last is the path to ask for files after.
type filePage struct {
	Data    []fileBody `json:"data"`
	Last    string     `json:"last"`
	HasMore bool       `json:"has_more"`
}

const (
	defaultFiles = 100
	mostFiles    = 1000
)

func bodyOfFile(f workspace.File) fileBody { return fileBody{f.Path, f.Size, f.Version} }

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "folder", "after", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", mostFiles)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = defaultFiles
	}
	files, err := s.service.Files(r.Context(), who(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	after := values["after"]
	list, err := files.List(r.Context(), workspace.Query{Folder: values["folder"], After: after, Limit: int(limit) + 1})
	if err != nil {
		return err
	}
	page := filePage{Data: []fileBody{}, Last: after}
	for i, f := range list {
		if page.HasMore = i == int(limit); page.HasMore {
			break
		}
		page.Data, page.Last = append(page.Data, bodyOfFile(f)), f.Path
	}
	writeJSON(w, http.StatusOK, page)
	return nil
}

// file returns the workspace and the path that a request names.
func (s *Server) file(r *http.Request) (workspace.Files, string, error) {
	values, err := query(r, "path")
	if err != nil {
		return nil, "", err
	}
	files, err := s.service.Files(r.Context(), who(r), r.PathValue("id"))
	return files, values["path"], err
}

func (s *Server) readFile(w http.ResponseWriter, r *http.Request) error {
	files, name, err := s.file(r)
	if err != nil {
		return err
	}
	f, err := files.Stat(r.Context(), name)
	if err != nil {
		return err
	}
	content, err := files.Open(r.Context(), name)
	if err != nil {
		return err
	}
	defer content.Close()
	// The first bytes are read before the head is sent, so that a damaged file is an error.
	first := make([]byte, min(f.Size, int64(copied)))
	if _, err := io.ReadFull(content, first); err == io.ErrUnexpectedEOF {
		return &event.Error{Op: "read file", Kind: event.ErrConflict, Message: "the file was replaced meanwhile", Hint: "read it again"}
	} else if err != nil {
		return err
	}
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream") // never what the name says: a browser must not run it
	head.Set("Content-Disposition", dispositionOf(path.Base(name)))
	head.Set("ETag", strconv.Quote(f.Version))
	head.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	return s.send(w, io.MultiReader(bytes.NewReader(first), content))
}

func (s *Server) writeFile(w http.ResponseWriter, r *http.Request) error {
	f, err := s.upload(r)
	if err != nil {
		door.Drop(w, r)
		return err
	}
	w.Header().Set("ETag", strconv.Quote(f.Version))
	writeJSON(w, http.StatusOK, bodyOfFile(f))
	return nil
}

func (s *Server) upload(r *http.Request) (workspace.File, error) {
	condition, err := conditionOf(r)
	if err != nil {
		return workspace.File{}, err
	}
	files, name, err := s.file(r)
	if err != nil {
		return workspace.File{}, err
	}
	return files.Put(r.Context(), name, &uploadReader{server: s, request: r, begun: time.Now()}, condition)
}

func (s *Server) removeFile(w http.ResponseWriter, r *http.Request) error {
	files, name, err := s.file(r)
	if err != nil {
		return err
	}
	if err := files.Remove(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
