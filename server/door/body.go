package door

import (
	"io"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
)

const (
	// discardTime is how long a refused body may go on before the connection is closed, and discardBytes
	// how much of it is read.
	discardTime  = 5 * time.Second
	discardBytes = 128 << 20
)

// ReadBody reads a request's body of at most so many bytes, and counts it in the hold. It drops the rest of a refused
// body for a short time, because a client that sends everything before it reads would not see
// the response otherwise.
func ReadBody(w http.ResponseWriter, r *http.Request, hold *service.Hold, most int64) ([]byte, error) {
	data, err := hold.Body(r.Context(), r.Body, r.ContentLength, most)
	if err == nil {
		return data, nil
	}
	if event.KindOf(err) == event.ErrInternal { // the reader's own error: nothing more comes
		return nil, &event.Error{Op: "read body", Kind: event.ErrInvalid, Message: "the body did not arrive", Hint: "send it again", Err: err}
	}
	hold.Release()
	if waits := r.Header.Get("Expect") != "" && r.ContentLength > most; waits {
		return nil, err // the client has sent nothing yet
	}
	Drop(w, r)
	return nil, err
}

// Drop reads the rest of a refused body for a short time. Otherwise a client that sends everything before it reads would not
// see the response.
func Drop(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTime)) // a connection that has none is bounded otherwise
	if _, rest := io.CopyN(io.Discard, r.Body, discardBytes); rest != io.EOF {     //nolint:errorlint // readers give it as it is
		w.Header().Set("Connection", "close")
	}
}
