package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
	"github.com/braidrun/braid/service/directory"
)

const (
	// SendTimeout bounds one attempt, from connecting to the end of the response's header.
	SendTimeout = 15 * time.Second
	// mostRead bounds how much of a response is read, so that its connection can be used again.
	mostRead = 4 << 10
	// mostWait bounds how long an endpoint can delay the next attempt by Retry-After.
	mostWait = 12 * time.Hour
)

// Sender sends messages to addresses of tenants. Make it with [NewSender].
type Sender struct {
	guard  *netguard.Guard
	client *http.Client
	agent  string
}

// NewSender returns a sender. allow are hosts beside public ones ([netguard.Options].Allow), and
// version is the version of this program that endpoints are told.
func NewSender(allow []string, version string) (*Sender, error) {
	return newSender(netguard.Options{Allow: allow, Timeout: SendTimeout, MaxBytes: mostRead}, version)
}

func newSender(o netguard.Options, version string) (*Sender, error) {
	guard, err := netguard.New(o)
	if err != nil {
		return nil, err
	}
	return &Sender{guard: guard, client: guard.Client(), agent: "Braid-Webhooks/" + version}, nil
}

// Check returns an error of kind [event.ErrInvalid] with the code WEBHOOK_INVALID for an address
// that cannot be reached. It connects to nothing.
func (s *Sender) Check(w *directory.Webhook) error {
	u, err := url.Parse(w.URL)
	if err == nil {
		err = s.guard.CheckURL(u)
	}
	if err == nil {
		return nil
	}
	refused := &event.Error{
		Op: "webhook", Kind: event.ErrInvalid, Code: "WEBHOOK_INVALID", Message: "the url cannot be used", Hint: "correct it", Err: err,
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		refused.Message, refused.Hint = "url: "+e.Message, e.Hint
	}
	return refused
}

// sent is the outcome of an attempt.
type sent struct {
	// code is the status code of the response; 0 for none.
	code int
	// fault says why the attempt failed; empty for success.
	fault string
	// notBefore is when the endpoint accepts the next attempt; zero if it did not say.
	notBefore time.Time
	took      time.Duration
}

func (s *sent) gone() bool { return s.code == http.StatusGone }

// send makes one attempt.
func (s *Sender) send(ctx context.Context, address, id string, body []byte, secrets directory.SigningSecrets) sent {
	began := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return sent{fault: "the url cannot be used"}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.agent)
	sign(r.Header, id, began, body, secrets)
	resp, err := s.client.Do(r)
	if err != nil {
		return sent{fault: faultOf(err), took: time.Since(began)}
	}
	defer resp.Body.Close()
	out := sent{code: resp.StatusCode, took: time.Since(began)}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, mostRead)) // the body says nothing
	switch resp.StatusCode / 100 {
	case 2:
		return out
	case 3:
		out.fault = "the endpoint redirects, and redirects are not followed"
	default:
		out.fault = "the endpoint answers with the status " + strconv.Itoa(resp.StatusCode)
	}
	out.notBefore = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return out
}

// faultOf says why a request got no response. It tells nothing of addresses inside the network.
func faultOf(err error) string {
	if e, ok := errors.AsType[*event.Error](err); ok {
		if e.Kind == event.ErrTimeout {
			return "the endpoint does not answer in " + SendTimeout.String()
		}
		return short(e.Message)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the endpoint's certificate cannot be verified"
	}
	if late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && late.Timeout() {
		return "the endpoint does not answer in " + SendTimeout.String()
	}
	return "the endpoint cannot be reached"
}

// retryAfter reads a Retry-After header (RFC 9110, section 10.2.3).
func retryAfter(text string, now time.Time) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, err := http.ParseTime(text)
	if seconds, e := strconv.ParseInt(text, 10, 32); e == nil && seconds >= 0 {
		at, err = now.Add(time.Duration(seconds)*time.Second), nil
	}
	if err != nil {
		return time.Time{}
	}
	if most := now.Add(mostWait); at.After(most) {
		return most
	}
	return at
}
