package cassette

import (
	"fmt"
	"os"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Session is a recording or a replay, as [Once] returns it.
type Session struct {
	// Model is the model to give to the agent.
	Model model.Model
	// Replayed is set if the recording existed.
	Replayed bool

	file   *os.File
	path   string
	rec    *Recorder
	player *Player
}

// Once replays the recording at path, for tests. If there is none, it records the model that
// open returns. To record anew, remove the file and run the test once with a key.
//
//	s, err := cassette.Once("testdata/talk.jsonl", func() (model.Model, error) { return models.Open("anthropic:…") })
//	agent := braid.New("helper", s.Model)
//	…
//	err = s.Close()
func Once(path string, open func() (model.Model, error), opts ...Option) (*Session, error) {
	player, err := Open(path, opts...)
	if err == nil {
		return &Session{Model: player, Replayed: true, player: player}, nil
	}
	if event.KindOf(err) != event.ErrNotFound {
		return nil, err
	}
	m, err := open()
	if err != nil {
		return nil, err
	}
	f, err := Create(path)
	if err != nil {
		return nil, err
	}
	rec := Record(m, f, opts...)
	return &Session{Model: rec, file: f, path: path, rec: rec}, nil
}

// Close ends the session. For a recording it returns an error if the recording is incomplete,
// and removes an incomplete or empty file. For a replay it returns the first mismatch, or an
// error of kind [event.ErrConflict] if recorded calls were not requested.
func (s *Session) Close() error {
	if s.player != nil {
		err := s.player.Err()
		if n := s.player.Left(); err == nil && n > 0 {
			err = &event.Error{
				Op: op, Kind: event.ErrConflict, Message: fmt.Sprintf("%d of the recorded model calls were not asked for", n),
				Hint: "repeat the recorded request, or record it again",
			}
		}
		return err
	}
	err := s.file.Close()
	if err != nil {
		err = lost(err)
	}
	if s.rec.Err() != nil {
		err = s.rec.Err()
	}
	if err != nil || s.rec.Calls() == 0 {
		_ = os.Remove(s.path) // the file is useless
	}
	return err
}
