package service

import (
	"time"

	"github.com/braidrun/braid/event"
)

// RunNotices finds out for one reader of a run why the run makes no progress: it waits for its
// turn, for storage space or for the database. It is not safe for concurrent use.
type RunNotices struct {
	// at is when to look next.
	at time.Time
	// looks counts the looks since the last progress.
	looks int
	// last is the code of the last notice while it holds.
	last string
}

// A silent run is looked at after a second, and then after twice as long each time, up to 16 s.
const (
	firstNotice = time.Second
	mostNotices = 4
)

// Due returns when to call [RunNotices.Look]. The zero time means at once.
func (n *RunNotices) Due() time.Time { return n.at }

// Came records progress of the run.
func (n *RunNotices) Came() { n.at, n.looks = time.Now().Add(firstNotice), 0 }

// Look returns a code and a text for the reader, once for each reason to wait. The code is empty if
// there is nothing to report.
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
	if code == n.last {
		return "", ""
	}
	n.last = code
	return code, says
}
