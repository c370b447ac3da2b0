package braid

import "github.com/braidrun/braid/event"

// ValidMessages is for tests outside of the package.
func ValidMessages(messages []event.Message) error { return validMessages(messages) }
