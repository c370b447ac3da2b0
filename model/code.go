package model

import "github.com/braidrun/braid/event"

// Codes of errors of the kind [event.ErrUnavailable] whose call got no answer of a server.
const (
	// CodeRefused is a connection that was refused: no server listens at the address.
	CodeRefused = "connection_refused"
	// CodeNoHost is a host name that does not exist.
	CodeNoHost = "unknown_host"
	// CodeUnreachable is any other failure of the network before an answer begins.
	CodeUnreachable = "unreachable"
	// CodeForeign is an answer that is not the API's, such as a web page of a proxy. The kind
	// is [event.ErrModel]. The message names the address, and repeats what answered.
	CodeForeign = "foreign_answer"
)

// Unreached reports whether the error of a call has [CodeRefused] or [CodeNoHost]. Waiting seldom
// helps there, so the loop makes such a call again once, after a second at most.
func Unreached(e *event.Error) bool {
	return e != nil && e.Kind == event.ErrUnavailable && (e.Code == CodeRefused || e.Code == CodeNoHost)
}

// NoAnswer reports whether the error of a call has one of the codes above. Its message names the
// address that was asked.
func NoAnswer(e *event.Error) bool {
	return Unreached(e) || e != nil && e.Kind == event.ErrUnavailable && e.Code == CodeUnreachable
}
