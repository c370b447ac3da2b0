package cassette

import (
	"fmt"
	"os"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Session is a recording that is being made, or one that is being replayed: what
// [Once] gives.
type Session struct {
	// Model is what the agent is made with.
	Model model.Model
	// Replayed says that the recording was there.
	Replayed bool

	file   *os.File
	path   string
	rec    *Recorder
	player *Player
}

// Once is for tests: where there is a recording at path, it is replayed, and open is
// not called. Where there is none, the model that open gives is recorded there, so
// that removing the file and running the test again, once and with a key, records it
// anew.
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

// Close ends the session. Of a recording it says whether it is whole, and removes it if
// it is not, or is empty. Of a replay it says what did not fit, and, as
// [event.ErrConflict], that recorded calls were not asked for.
func (s *Session) Close() error {
	if s.player != nil {
		err := s.player.Err()
		if n := s.player.Left(); err == nil && n > 0 {
			err = &event.Error{
				Op: op, Kind: event.ErrConflict, Message: fmt.Sprintf("%d of the recorded model calls were not asked for", n),
				Hint: "ask what was asked then, or record it anew",
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
		_ = os.Remove(s.path) // what is there is of no use
	}
	return err
}
