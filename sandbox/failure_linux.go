//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io/fs"
)

// stepError says which step of making a sandbox the system refused.
type stepError struct {
	step string
	err  error
}

// Error implements error.
func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }

// Unwrap returns the system's error.
func (e *stepError) Unwrap() error { return e.err }

// step returns an error that names its step; nil for nil.
func step(name string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{name, err}
}

// failure returns the report of an error.
func failure(err error) report {
	return report{Failed: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
}
