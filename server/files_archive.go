package server

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/workspace"
)

func (s *Server) readFiles(w http.ResponseWriter, r *http.Request) error {
	files, err := s.service.Files(r.Context(), who(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = writer.CloseWithError(workspace.WriteArchive(ctx, writer, files))
	}()
	defer func() {
		cancel()
		_ = reader.Close()
		<-written
	}()
	first := make([]byte, copied)
	n, err := io.ReadFull(reader, first)
	if err != nil && err != io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull gives it as it is
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", dispositionOf(r.PathValue("id")+".zip"))
	return s.send(w, io.MultiReader(bytes.NewReader(first[:n]), reader))
}

func (s *Server) writeFiles(w http.ResponseWriter, r *http.Request) error {
	files, err := s.service.Files(r.Context(), who(r), r.PathValue("id"))
	if err != nil {
		door.Drop(w, r)
		return err
	}
	data, err := door.ReadBody(w, r, s.hold(w, r), s.options.BodyBytes)
	if err != nil {
		return err
	}
	stored, err := workspace.ReadArchive(r.Context(), files, bytes.NewReader(data), int64(len(data)), workspace.Quota{})
	release(w)
	if err != nil {
		return err
	}
	out := make([]fileBody, len(stored))
	for i, f := range stored {
		out[i] = bodyOfFile(f)
	}
	writeJSON(w, http.StatusOK, list[fileBody]{Data: out})
	return nil
}
