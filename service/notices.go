package service

import (
	"time"

	"github.com/braidrun/braid/event"
)

// RunNotices finds out for one reader of a run why nothing comes of it: the run waits for its turn, for space to write, or
// for the database. It is not safe for concurrent use.
type RunNotices struct {
	// at is when the run is looked at, and looks how often it was since something came of it.
	at    time.Time
	looks int
	// told is the code of the last notice, if it still holds.
	told string
}

// A run of which nothing comes is looked at after a second, and then after twice as long each time, up to 16 s.
const (
	firstNotice = time.Second
	mostNotices = 4
)

// Due returns when [RunNotices.Look] has something to do. The zero time is at once.
func (n *RunNotices) Due() time.Time { return n.at }

// Came says that something came of the run.
func (n *RunNotices) Came() { n.at, n.looks = time.Now().Add(firstNotice), 0 }

// Look returns a code and words for the reader, once for each reason that the run waits for. The code is empty if there is
// nothing to say.
func (n *RunNotices) Look(s *Service, run string) (code, says string) {
	n.at = time.Now().Add(firstNotice << min(n.looks, mostNotices))
	n.looks++
	switch kind := event.KindOf(s.Waits(run)); kind {
	case "":
	case event.ErrBacklogFull:
		code, says = "QUEUED", "the run waits for its turn: this server drives as many runs as it may"
	case event.ErrStorageFull:
		code, says = kind.Info().Code, "the run waits: there is no space left to write, and it goes on by itself once there is some"
	default:
		code, says = event.ErrUnavailable.Info().Code, "the run waits: it could not be driven just now, and is tried again"
	}
	if code == n.told {
		return "", ""
	}
	n.told = code
	return code, says
}
