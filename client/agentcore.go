package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/agentcore"
)

// AgentCore invokes an agent through the HTTP protocol of Amazon Bedrock AgentCore: in a container,
// such as braid serve --agentcore, or on the platform. It is safe for concurrent use. It never
// repeats a request by itself, because a failed invocation may have had effects.
type AgentCore struct {
	base    *url.URL
	options AgentCoreOptions
	http    *http.Client
}

// AgentCoreOptions configure an [AgentCore]. The zero value calls a container without a credential.
type AgentCoreOptions struct {
	// ARN is the runtime's ARN. Empty means a container, which has the path /invocations.
	ARN string
	// Qualifier is the endpoint or version of the runtime. Empty means the platform's default.
	Qualifier string
	// Token is sent as a bearer token. It excludes Sign.
	Token secret.Secret
	// Sign adds a signature over the request and its body. It excludes Token.
	Sign func(ctx context.Context, r *http.Request, body []byte) error
	// HTTP sends the requests. nil means the client's own. Its Timeout and CheckRedirect are not
	// used: a credential is never sent to another server.
	HTTP *http.Client
	// Begin bounds the time until the response begins. 0 means [DefaultBegin].
	Begin time.Duration
}

// DefaultBegin is how long an agent may take to begin its response: the 15 minutes that the
// platform allows for a request without a stream.
const DefaultBegin = 15 * time.Minute

// These are the headers of the protocol.
const (
	sessionHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"
	userHeader    = "X-Amzn-Bedrock-Agentcore-Runtime-User-Id"
	requestHeader = "X-Amzn-Bedrock-Agentcore-Runtime-Request-Id"
)

// The platform refuses session ids of another length.
const (
	leastSession = 33
	mostSession  = 256
)

// NewAgentCore makes a client for the server at this address, such as
// "http://127.0.0.1:8080"; with an ARN the address may be empty, which is the
// platform's own in the ARN's region. The error is [event.ErrInvalid].
func NewAgentCore(address string, o AgentCoreOptions) (*AgentCore, error) {
	if o.ARN != "" {
		region, err := regionOf(o.ARN)
		if err != nil {
			return nil, err
		}
		if address == "" {
			address = "https://bedrock-agentcore." + region + ".amazonaws.com"
		}
	}
	base, err := baseOf(address)
	if err != nil {
		return nil, err
	}
	if !o.Token.Empty() && o.Sign != nil {
		return nil, &event.Error{
			Op: "agentcore", Kind: event.ErrInvalid, Message: "a request has one credential: a token or a signature",
			Hint: "give one of them",
		}
	}
	if o.Begin <= 0 {
		o.Begin = DefaultBegin
	}
	own := http.Client{}
	if o.HTTP != nil {
		own = *o.HTTP
	}
	own.Timeout = 0 // it would end every stream
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &AgentCore{base: base, options: o, http: &own}, nil
}

// regionOf returns the region in an ARN of a runtime:
// arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID.
func regionOf(arn string) (string, error) {
	const parts = 6
	p := strings.SplitN(arn, ":", parts)
	word := func(s string) bool {
		return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
	}
	if len(p) != parts || p[0] != "arn" || p[2] != "bedrock-agentcore" || !word(p[3]) || p[5] == "" {
		return "", &event.Error{
			Op: "agentcore", Kind: event.ErrInvalid, Message: "the ARN is not one of an AgentCore runtime",
			Hint: "give it as arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID",
		}
	}
	return p[3], nil
}

// Invocation is a request to an agent.
type Invocation struct {
	// Prompt is sent as {"prompt": …} unless Payload is set.
	Prompt string
	// Payload is sent unchanged instead of Prompt.
	Payload []byte
	// Type is the content type of Payload. "" means JSON.
	Type string
	// Session is the conversation, with 33 to 256 characters. Empty begins a new one.
	Session string
	// User is the user for whom the request is made. Empty sends nothing.
	User string
	// Header is sent too. It cannot replace the headers of the protocol.
	Header http.Header
}

// Invoked is a response that is being received. It is not safe for concurrent use. It must be
// closed; closing it before its end cancels the run on servers that watch their callers.
type Invoked struct {
	// Session is the conversation, for the next invocation.
	Session string
	// Request is the server's id of the invocation. It may be empty.
	Request string
	// Type is the response's content type: an event stream, or JSON at once.
	Type string

	reader *agentcore.Reader
	body   io.ReadCloser
	ctx    context.Context //nolint:containedctx // a response lives as long as its request
	cancel context.CancelFunc
}

// Invoke sends a request and returns when the response begins. If the server refuses it, the error
// has the exception as its Code, and is [event.ErrInvalid], [event.ErrUnauthenticated],
// [event.ErrPermission], [event.ErrNotFound], [event.ErrConflict], [event.ErrThrottled],
// [event.ErrModel] if the agent itself failed, or [event.ErrUnavailable].
func (a *AgentCore) Invoke(ctx context.Context, in Invocation) (*Invoked, error) {
	body, header := in.Payload, http.Header{}
	for name, values := range in.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if body == nil {
		data, err := json.Marshal(map[string]string{"prompt": in.Prompt})
		if err != nil {
			return nil, invalid("the prompt has no JSON form", err)
		}
		body = data
	}
	if in.Session == "" {
		in.Session = newSession()
	}
	if err := checkSession(in.Session); err != nil {
		return nil, err
	}
	if in.Type == "" {
		in.Type = "application/json"
	}
	header.Set("Content-Type", in.Type)
	header.Set("Accept", "text/event-stream, application/json")
	header.Set(sessionHeader, in.Session)
	if in.User != "" {
		header.Set(userHeader, in.User)
	}
	ctx, cancel := context.WithCancel(ctx)
	res, err := a.send(ctx, http.MethodPost, "invocations", body, header) //nolint:bodyclose // the caller closes it
	if err != nil {
		cancel()
		return nil, err
	}
	out := &Invoked{
		Session: in.Session, Request: res.Header.Get(requestHeader), Type: res.Header.Get("Content-Type"),
		reader: agentcore.NewReader(res.Body, 0), body: res.Body, ctx: ctx, cancel: cancel,
	}
	if s := res.Header.Get(sessionHeader); s != "" {
		out.Session = s
	}
	if out.Request == "" {
		out.Request = res.Header.Get("X-Amzn-Requestid")
	}
	return out, nil
}

// StopSession ends a conversation's runtime session on the platform and everything in it. It needs
// an ARN.
func (a *AgentCore) StopSession(ctx context.Context, session string) error {
	if a.options.ARN == "" {
		return &event.Error{
			Op: "agentcore", Kind: event.ErrUnsupported, Message: "a container has no sessions to stop",
			Hint: "give the runtime's ARN, or cancel the invocation by closing it",
		}
	}
	if err := checkSession(session); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.Begin)
	defer cancel()
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	header.Set(sessionHeader, session)
	res, err := a.send(ctx, http.MethodPost, "stopruntimesession", []byte(`{}`), header)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Items yields the items of the response; see [agentcore.Item]. An error is the connection's, and
// the last thing that it yields. An error in the stream itself is an item.
func (in *Invoked) Items() iter.Seq2[*agentcore.Item, error] {
	return func(yield func(*agentcore.Item, error) bool) {
		for {
			it, err := in.reader.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, broken(in.ctx, err))
				return
			}
			if !yield(it, nil) {
				return
			}
		}
	}
}

// Reader returns the reader that Items uses. It also knows the tools, and whether the run has
// ended.
func (in *Invoked) Reader() *agentcore.Reader { return in.reader }

// Read reads the raw response. Items does not see what Read has returned.
func (in *Invoked) Read(p []byte) (int, error) { return in.body.Read(p) }

// Close closes the response.
func (in *Invoked) Close() error {
	in.cancel()
	return in.body.Close()
}

// send sends a request and returns the response's head. The body ends with ctx.
func (a *AgentCore) send(ctx context.Context, method, what string, body []byte, header http.Header) (*http.Response, error) {
	to := *a.base
	path, raw := "/"+what, "/"+what
	if arn := a.options.ARN; arn != "" {
		path = "/runtimes/" + arn + path
		raw = "/runtimes/" + escapeSegment(arn) + raw
		if a.options.Qualifier != "" {
			to.RawQuery = url.Values{"qualifier": {a.options.Qualifier}}.Encode()
		}
	}
	to.RawPath = to.EscapedPath() + raw
	to.Path += path
	// The time until the response begins is bounded. The response itself is bounded only by the caller's context.
	sending, late := context.WithCancelCause(ctx)
	timer := time.AfterFunc(a.options.Begin, func() { late(context.DeadlineExceeded) })
	r, err := http.NewRequestWithContext(sending, method, to.String(), bytes.NewReader(body))
	if err != nil {
		timer.Stop()
		late(nil)
		return nil, invalid("the request cannot be made", err)
	}
	r.Header = header
	if !a.options.Token.Empty() {
		r.Header.Set("Authorization", "Bearer "+a.options.Token.Reveal())
	}
	if a.options.Sign != nil {
		err = a.options.Sign(ctx, r, body)
	}
	var res *http.Response
	if err == nil {
		res, err = a.http.Do(r)
	}
	switch {
	case !timer.Stop() && context.Cause(sending) == context.DeadlineExceeded: //nolint:errorlint // it is ours, as it was set
		if err == nil {
			_ = res.Body.Close()
		}
		late(nil)
		return nil, &event.Error{
			Op: "agentcore", Kind: event.ErrTimeout, Message: "the agent did not begin to answer in time",
			Hint: "check whether it is still working before you repeat the request", Err: err,
		}
	case err != nil:
		late(nil)
		if e, ok := errors.AsType[*event.Error](err); ok {
			return nil, e
		}
		return nil, broken(ctx, err)
	case res.StatusCode >= 200 && res.StatusCode < 300:
		res.Body = &letting{ReadCloser: res.Body, cancel: late}
		return res, nil
	}
	defer late(nil)
	defer res.Body.Close()
	return nil, a.refused(res)
}

// letting releases a request's context when its response is closed.
type letting struct {
	io.ReadCloser

	cancel context.CancelCauseFunc
}

// Close implements [io.Closer].
func (l *letting) Close() error {
	defer l.cancel(nil)
	return l.ReadCloser.Close()
}

// refused returns the error of a response.
func (a *AgentCore) refused(res *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(res.Body, mostError)) // a part of it may be enough
	var body struct {
		Message  string          `json:"message"` // also read with a capital letter, as some services send it
		Error    json.RawMessage `json:"error"`
		Details  string          `json:"details"`
		TypeName string          `json:"__type"` //nolint:tagliatelle // AWS's own
	}
	e := &event.Error{Op: "agentcore", Kind: kindOfStatus(res.StatusCode)}
	if json.Unmarshal(data, &body) == nil {
		e.Message = body.Message
		var own struct {
			Message string `json:"message"`
		}
		if e.Message == "" && json.Unmarshal(body.Error, &e.Message) != nil && json.Unmarshal(body.Error, &own) == nil {
			e.Message = own.Message
		}
		if body.Details != "" {
			e.Message += ": " + body.Details
		}
	}
	e.Code = res.Header.Get("X-Amzn-Errortype")
	if e.Code == "" {
		e.Code = body.TypeName
	}
	e.Code, _, _ = strings.Cut(e.Code, ":")
	if e.Message == "" {
		e.Message = "the server answered " + res.Status
		if t, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); t == "text/html" {
			e.Message += " with a page"
			e.Hint = "look at the address, and at what stands before the server"
		}
	}
	if e.Hint == "" {
		e.Hint = hintOf(e.Kind)
	}
	return e
}

// kindOfStatus returns the kind of a status in the platform's documentation of errors.
func kindOfStatus(status int) event.ErrorKind {
	switch status {
	case http.StatusUnauthorized:
		return event.ErrUnauthenticated
	case http.StatusForbidden:
		return event.ErrPermission
	case http.StatusNotFound:
		return event.ErrNotFound
	case http.StatusConflict:
		return event.ErrConflict
	case http.StatusRequestEntityTooLarge:
		return event.ErrTooLarge
	case http.StatusPaymentRequired:
		return event.ErrLimit
	case http.StatusFailedDependency:
		return event.ErrModel
	case http.StatusTooManyRequests:
		return event.ErrThrottled
	}
	if status < http.StatusInternalServerError {
		return event.ErrInvalid
	}
	return event.ErrUnavailable
}

func hintOf(kind event.ErrorKind) string {
	switch kind {
	case event.ErrUnauthenticated, event.ErrPermission:
		return "look at the token or the AWS keys, and at what they may do"
	case event.ErrNotFound:
		return "look at the address, the ARN and the qualifier"
	case event.ErrConflict:
		return "the session is at work: wait until it has answered"
	case event.ErrThrottled:
		return "ask again later"
	case event.ErrModel:
		return "the agent itself failed: look at its logs"
	default:
		return ""
	}
}

// escapeSegment escapes an ARN as one segment of a path, including colons and slashes.
func escapeSegment(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func checkSession(session string) error {
	if len(session) >= leastSession && len(session) <= mostSession && strings.IndexFunc(session, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) < 0 {
		return nil
	}
	return &event.Error{
		Op: "agentcore", Kind: event.ErrInvalid, Message: "a session's id has 33 to 256 characters, all of them visible ASCII",
		Hint: "leave it out to begin a new session; the response has its id",
	}
}

// newSession returns an id in the form of a UUID, which is long enough for the platform.
func newSession() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
