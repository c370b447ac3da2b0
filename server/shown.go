package server

import (
	"strings"

	"github.com/braidrun/braid/event"
)

// shownTo reports whether a client may read the event.
func shownTo(e *event.Event) bool { return e.Audience == event.Everyone }

// shown is the event without what is the service's own.
func shown(e *event.Event) *event.Event {
	b, ok := e.Body.(*event.RunStarted)
	if !ok || len(b.Metadata) == 0 {
		return e
	}
	labels := make(map[string]string, len(b.Metadata))
	for k, v := range b.Metadata {
		if !strings.HasPrefix(k, "braid.") {
			labels[k] = v
		}
	}
	started := *b
	started.Metadata = labels
	other := *e
	other.Body = &started
	return &other
}
