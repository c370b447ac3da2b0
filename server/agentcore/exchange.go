package agentcore

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// exchange is one request and its response.
type exchange struct {
	front.Exchange

	h    *Handler
	door bool
	// scope is the scope that the credential must have.
	scope service.Scope
	// hash is the signed hash of the body.
	hash string
	// kept is the body, if signed had to read it for the hash.
	kept []byte
	read bool
}

func newExchange(h *Handler, w http.ResponseWriter, r *http.Request, door bool, scope service.Scope) *exchange {
	x := &exchange{h: h, door: door, scope: scope}
	x.Options, x.W, x.R, x.ID = &h.front, w, r, r.Header.Get(requestHeader)
	if !plain(x.ID, 128) {
		x.ID = newUUID()
	}
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	head.Set(requestHeader, x.ID)
	if x.door {
		head.Set(awsRequestID, x.ID)
	}
	for _, name := range echoed {
		if v := r.Header.Get(name); v != "" && len(v) <= echoBytes {
			head.Set(name, v)
		}
	}
	return x
}

// json responds with a value.
func (x *exchange) json(status int, v any) {
	b, err := marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	x.body(status, b)
}

// marshal encodes JSON without escaping HTML characters.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

func (x *exchange) body(status int, b []byte) {
	x.W.Header().Set("Content-Type", "application/json")
	x.W.Header().Set("Content-Length", strconv.Itoa(len(b)))
	x.Head(status)
	_, _ = x.W.Write(b) // a reader that has left needs no error
}
