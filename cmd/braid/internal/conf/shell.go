package conf

import (
	"errors"
	"time"

	"github.com/braidrun/braid/sandbox"
)

// parseLevel reads the weakest level of a sandbox.
func parseLevel(to *sandbox.Level, v string) error {
	level, err := sandbox.ParseLevel(v)
	if err != nil {
		return errors.New("is no level of a sandbox: choose full or namespaces")
	}
	*to = level
	return nil
}

// mostTime bounds the time of a command.
const mostTime = 24 * time.Hour

// parseTime reads a time of at least a second.
func parseTime(to *time.Duration, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < time.Second || d > mostTime {
		return errors.New("is not a time from 1s to 24h: write it as 30s or 5m")
	}
	*to = d
	return nil
}
