package server

import (
	"context"
	"net/http"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/stream"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire/native"
)

// reading is one reader of a conversation, or of one run of it, by the native API.
type reading struct {
	stream.Stream

	server       *Server
	who          service.Principal
	conversation string
	cursor       native.Cursor
	encoder      *native.Encoder
	titles       titles
	// answered is set once collect has answered, or the server has ended the request: then the reader did not leave.
	answered bool
}

// read makes a reading of a conversation, or of one run of it if run is not empty.
func (s *Server) read(r *http.Request, conversation, run string) *reading {
	rd := &reading{server: s, who: who(r), conversation: conversation, encoder: native.NewEncoder(conversation)}
	rd.encoder.Run = run
	rd.Story.Run, rd.Encoder, rd.Service, rd.Heartbeat, rd.Cut = run, rd.encoder, s.service, s.options.Heartbeat, func() { s.metrics.cuts.Inc() }
	return rd
}

func (s *Server) streamConversation(w http.ResponseWriter, r *http.Request) error {
	return s.read(r, r.PathValue("id"), "").attach(w, r)
}

func (s *Server) streamRun(w http.ResponseWriter, r *http.Request) error {
	run, err := s.service.GetRun(r.Context(), who(r), r.PathValue("id"), r.PathValue("run"))
	if err != nil {
		return err
	}
	return s.read(r, r.PathValue("id"), run.ID).attach(w, r)
}

// attach begins a stream where its reader was, or at the beginning.
func (rd *reading) attach(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "after")
	if err != nil {
		return err
	}
	at, err := lastEventID(r)
	if after, ok := values["after"]; ok && at == nil && err == nil {
		rd.cursor, err = native.ParseCursor(after)
	}
	if err != nil {
		return err
	}
	if at != nil {
		rd.cursor = *at
	}
	if err := rd.prepare(r.Context()); err != nil {
		return err
	}
	return rd.send(w, r)
}

// begin replaces prepare if the follower existed before the run: the reader has nothing of
// the run.
func (rd *reading) begin(f *live.Follower, titled bool) {
	rd.Story.SkipTo(rd.cursor.Seq)
	rd.follow(f, titled)
}

// follow sets where the events come from. titled says that the conversation has a title.
func (rd *reading) follow(f *live.Follower, titled bool) {
	rd.Follower = f
	if !titled {
		rd.titles.of = rd
		rd.Extra = &rd.titles
	}
}

// prepare does everything that can fail before the first byte is sent.
func (rd *reading) prepare(ctx context.Context) error {
	s := rd.server.service
	if rd.cursor.Epoch > 0 {
		if err := s.CheckEpoch(ctx, rd.who, rd.conversation, rd.cursor.Epoch); err != nil {
			return err
		}
	}
	f, titled, err := s.Attach(ctx, rd.who, rd.conversation, rd.cursor.Seq)
	if err != nil {
		return err
	}
	rd.follow(f, titled)
	log := func(ctx context.Context, after int64, limit int) ([]*event.Event, error) {
		return s.Events(ctx, rd.who, rd.conversation, after, limit)
	}
	if _, err = rd.Skip(ctx, log, rd.cursor.Seq, nil); err == nil {
		rd.Story.SkipTo(rd.cursor.Seq)
		err = rd.Ahead(ctx)
	}
	if err != nil {
		f.Close()
	}
	return err
}

// over reports whether the stream was complete or the server ended it. Otherwise the reader left.
func (rd *reading) over() bool { return rd.answered || rd.Over }

// send writes the stream. After the status it returns no error: the stream itself
// reports what goes wrong.
func (rd *reading) send(w http.ResponseWriter, r *http.Request) error {
	defer rd.Follower.Close()
	s := rd.server
	ctx, unwatch := s.door.Watch(r.Context(), callerOf(r))
	defer unwatch()
	s.metrics.streams.Inc()
	defer s.metrics.streams.Add(-1)
	rd.encoder.RequestID = idOf(r)

	stream.Head(w.Header(), native.Wire)
	w.WriteHeader(http.StatusOK)
	if a, ok := w.(*answer); ok {
		w = a.ResponseWriter // what there was to remember has been said
	}
	err := rd.Serve(ctx, &stream.Writer{Response: w, Time: s.options.WriteTime, Wrote: s.metrics.wrote})
	if err != nil && door.Ended(ctx) == nil && event.KindOf(err) != event.ErrNotFound {
		s.log.Warn("a stream was interrupted", "request", idOf(r), "error", err)
	}
	return nil
}
