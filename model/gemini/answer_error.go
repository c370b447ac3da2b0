package gemini

import "errors"

var errUnreadable = errors.New("an event of the answer cannot be read")

var (
	errCut      = errors.New("the answer ended before it said why")
	errNoStream = errors.New("the answer is no stream of events")
	// errMalformed means that the model could not write a tool call.
	errMalformed = errors.New("the model could not write a call")
)
