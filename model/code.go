package model

import "github.com/braidrun/braid/event"

// These are codes of errors of kind [event.ErrUnavailable] whose call got no response.
const (
	// CodeRefused means that no server listens at the address.
	CodeRefused = "connection_refused"
	// CodeNoHost is a host name that does not exist.
	CodeNoHost = "unknown_host"
	// CodeUnreachable is any other network failure before a response begins.
	CodeUnreachable = "unreachable"
	// CodeForeign is a response that is not the API's, such as a proxy's web page. The kind is
	// [event.ErrModel]. The message contains the address and a part of the response.
	CodeForeign = "foreign_answer"
)

// Unreached reports whether the error of a call has [CodeRefused] or [CodeNoHost]. Waiting seldom
// helps then, so the loop repeats such a call only once, after at most a second.
func Unreached(e *event.Error) bool {
	return e != nil && e.Kind == event.ErrUnavailable && (e.Code == CodeRefused || e.Code == CodeNoHost)
}

// NoAnswer reports whether the error of a call has one of the codes above. Its message contains the
// address.
func NoAnswer(e *event.Error) bool {
	return Unreached(e) || e != nil && e.Kind == event.ErrUnavailable && e.Code == CodeUnreachable
}
