package webhooks

import (
	"net/http"
	"time"

	"github.com/braidrun/braid/netguard"
)

// NewTestSender returns a sender with other rules.
func NewTestSender(o netguard.Options) (*Sender, error) { return newSender(o, "test") }

// Through sends everything through a transport instead of the guard.
func (s *Sender) Through(t http.RoundTripper) {
	s.client = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Uncertain, LongFailure, Keep and Schedule are bounds of time.
const (
	Uncertain   = uncertain
	LongFailure = longFailure
	Keep        = keep
)

func Schedule() []time.Duration { return schedule[:] }
