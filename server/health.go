package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
)

type statusBody struct {
	Status string `json:"status"`
}

// list is a list that has no pages.
type list[T any] struct {
	Data []T `json:"data"`
}

// health says that the process answers.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, statusBody{"ok"})
	return nil
}

// readyTime is how long the stores may take to answer whether they are there.
const readyTime = 2 * time.Second

// ready says that the server can do its work: not while it drains, and not without its
// journal.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	ctx, stop := context.WithTimeout(r.Context(), readyTime)
	defer stop()
	err := s.service.Ready(ctx)
	if err == nil && s.options.Ready != nil {
		err = s.options.Ready()
	}
	if errors.Is(err, event.ErrStorageFull) {
		return &event.Error{
			Kind: event.ErrUnavailable, Message: "there is no space left to write", Hint: "free some space on the server", Err: err,
		}
	}
	if err != nil {
		return &event.Error{
			Kind: event.ErrUnavailable, Message: "the server is not ready", Hint: "ask again in a moment", Err: err,
		}
	}
	writeJSON(w, http.StatusOK, statusBody{"ready"})
	return nil
}
