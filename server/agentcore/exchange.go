package agentcore

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// The headers of AgentCore, as Go writes them.
const (
	sessionHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"
	userHeader    = "X-Amzn-Bedrock-Agentcore-Runtime-User-Id"
	requestHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Request-Id"
	customHeader  = "X-Amzn-Bedrock-Agentcore-Runtime-Custom-"
	retryHeader   = "Amz-Sdk-Invocation-Id"
	awsRequestID  = "X-Amzn-Requestid"
	awsErrorType  = "X-Amzn-Errortype"
)

// echoed are the headers that a caller gets back as it sent them: those that its SDK
// shows in the output.
var echoed = [...]string{"Mcp-Session-Id", "Mcp-Protocol-Version", "X-Amzn-Trace-Id", "Traceparent", "Tracestate", "Baggage"}

// crossing is what pages of the operator's other sites may do.
func crossing(origins []string) hostcheck.Cross {
	return hostcheck.Cross{
		Origins: origins, Methods: "GET, POST",
		Headers: "Authorization, Content-Type, Baggage, Traceparent, Tracestate, " + sessionHeader + ", " + userHeader + ", " +
			requestHeader + ", " + customHeader + "Braid-Stream",
		Expose: "RateLimit, RateLimit-Policy, Retry-After, " + sessionHeader + ", " + requestHeader,
	}
}

// echoBytes bounds each of them.
const echoBytes = 8 << 10

// exchange is one request and its answer.
type exchange struct {
	front.Exchange

	h    *Handler
	door bool
	// scope is what the credential must be for.
	scope service.Scope
	// hash is the body's as the signature has it; kept is the body where it had to be
	// read to know that.
	hash string
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

// plain reports whether an id is short and of letters that cannot do harm anywhere.
func plain(id string, most int) bool {
	ok := id != "" && len(id) <= most
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' && i > 0
	}
	return ok && id[0] != '-'
}

// newUUID is a random one.
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

// The bounds of a session's id (API InvokeAgentRuntime, runtimeSessionId).
const (
	leastSession = 33
	mostSession  = 256
)

// inSession finds the session of a request, and tells the caller of it. Without one it
// is a new one, which is the same where an SDK sends the same request again.
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
		return &event.Error{
			Kind: event.ErrInvalid, Message: "the session id is too short, too long, or not of letters, digits, - and _",
			Hint: "send " + strconv.Itoa(leastSession) + " to " + strconv.Itoa(mostSession) + " of them, such as a UUID",
		}
	}
	x.Session = id
	x.W.Header().Set(sessionHeader, id)
	return nil
}

// retryID is what an SDK's attempts at one request have in common.
func (x *exchange) retryID() string { return x.R.Header.Get(retryHeader) }

// conversation is the name that the session has in the service.
func (x *exchange) conversation() string { return "agentcore session " + x.Session }

// json answers with a value.
func (x *exchange) json(status int, v any) {
	b, err := marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	x.body(status, b)
}

// marshal writes JSON without escaping what HTML would need.
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
	_, _ = x.W.Write(b) // who does not read it any more needs no error
}
