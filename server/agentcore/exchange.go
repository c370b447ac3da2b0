package agentcore

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// AgentCore's headers, in Go's canonical form.
const (
	sessionHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"
	userHeader    = "X-Amzn-Bedrock-Agentcore-Runtime-User-Id"
	requestHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Request-Id"
	customHeader  = "X-Amzn-Bedrock-Agentcore-Runtime-Custom-"
	retryHeader   = "Amz-Sdk-Invocation-Id"
	awsRequestID  = "X-Amzn-Requestid"
	awsErrorType  = "X-Amzn-Errortype"
)

// echoed are the headers that the response repeats. The caller's SDK shows them in its output.
var echoed = [...]string{"Mcp-Session-Id", "Mcp-Protocol-Version", "X-Amzn-Trace-Id", "Traceparent", "Tracestate", "Baggage"}

// crossing allows what pages of other permitted origins may do.
func crossing(origins []string) hostcheck.Cross {
	return hostcheck.Cross{
		Origins: origins, Methods: "GET, POST",
		Headers: "Authorization, Content-Type, Baggage, Traceparent, Tracestate, " + sessionHeader + ", " + userHeader + ", " +
			requestHeader + ", " + customHeader + "Braid-Stream",
		Expose: "RateLimit, RateLimit-Policy, Retry-After, " + sessionHeader + ", " + requestHeader,
	}
}

// echoBytes is the maximum length of each of them.
const echoBytes = 8 << 10

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

func newExchange(h *Handler, w http.ResponseWriter, r *http.Request, rt *route) *exchange {
	x := &exchange{h: h, door: rt.door, scope: rt.scope}
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

// plain reports whether an id is short and consists of safe characters only.
func plain(id string, most int) bool {
	ok := id != "" && len(id) <= most
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' && i > 0
	}
	return ok && id[0] != '-'
}

// newUUID returns a random UUID.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return uuid(b, 4)
}

func uuid(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

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
