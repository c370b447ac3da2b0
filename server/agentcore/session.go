package agentcore

import (
	"crypto/sha256"
	"strconv"

	"github.com/braidrun/braid/server/front"
)

// The bounds of a session id (API InvokeAgentRuntime, runtimeSessionId).
const (
	leastSession = 33
	mostSession  = 256
)

// inSession sets the session of a request and returns its id to the caller. A request without one
// starts a new session; an SDK's repetition of that request gets the same id.
func (x *exchange) inSession(id string) error {
	switch {
	case id == "" && x.retryID() != "":
		name := x.Who.Tenant + "\x00" + x.retryID()
		if x.Who.User != "" {
			name += "\x00" + x.Who.User
		}
		sum := sha256.Sum256([]byte(name))
		id = uuid([16]byte(sum[:]), 8)
	case id == "":
		id = newUUID()
	case len(id) < leastSession || len(id) > mostSession || !plain(id, mostSession):
		return front.Bad("the session id is too short, too long, or not of letters, digits, - and _",
			"send "+strconv.Itoa(leastSession)+" to "+strconv.Itoa(mostSession)+" of them, such as a UUID")
	}
	x.Session = id
	x.W.Header().Set(sessionHeader, id)
	return nil
}

// retryID returns the id that all of an SDK's attempts at one request share.
func (x *exchange) retryID() string { return x.R.Header.Get(retryHeader) }

// conversation returns the session's name in the service.
func (x *exchange) conversation() string { return "agentcore session " + x.Session }
