package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel"
)

// sender posts one signal to a collector, as the specification of OTLP over HTTP and its
// page about the exporters' variables say (opentelemetry.io/docs/specs/otlp,
// …/specs/otel/protocol/exporter). The official exporters over HTTP link grpc, which costs the
// command some 11 MB: ADR 18. It is safe for concurrent use.
type sender struct {
	address string
	header  http.Header
	zip     bool
	client  *http.Client
	// life ends with stop, and so does all sending, also of spans that the SDK sends
	// without a deadline.
	life context.Context //nolint:containedctx // it is the sender's own
	end  context.CancelFunc
}

// signal names one of the two that are sent: its path, and its part of the variables' names.
type signal struct{ path, variable string }

var (
	traceSignal  = signal{"v1/traces", "TRACES"}
	metricSignal = signal{"v1/metrics", "METRICS"}
)

// setting reads a variable of the signal, or else the one for both, and says which it was.
func (s signal) setting(name string) (value, variable string) {
	for _, variable = range []string{"OTEL_EXPORTER_OTLP_" + s.variable + "_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if value = strings.TrimSpace(os.Getenv(variable)); value != "" {
			return value, variable
		}
	}
	return "", variable
}

// Errors of variables. They never hold the value, which may be a secret.
var (
	errAddress     = errors.New("it is not an http or https address")
	errHeaders     = errors.New("it is not a list of name=value")
	errCompression = errors.New(`it is neither "gzip" nor "none"`)
	errTimeout     = errors.New("it is not a number of milliseconds")
	errCertificate = errors.New("the file holds no certificate")
	errPair        = errors.New("a client certificate needs its key, and a key its certificate")
)

// newSender makes the sender of a signal from the environment. It opens no connection.
func newSender(s signal) (*sender, error) {
	out := &sender{}
	out.life, out.end = context.WithCancel(context.Background())
	address, variable, err := s.address()
	if err != nil {
		return nil, unusable(variable, err)
	}
	out.address = address
	text, variable := s.setting("HEADERS")
	if out.header, err = headers(text); err != nil {
		return nil, unusable(variable, err)
	}
	switch text, variable = s.setting("COMPRESSION"); text {
	case "", "none":
	case "gzip":
		out.zip = true
	default:
		return nil, unusable(variable, errCompression)
	}
	timeout := 10 * time.Second // says the specification
	if text, variable = s.setting("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 0 {
			return nil, unusable(variable, errTimeout)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // so it is documented
	if transport.TLSClientConfig, variable, err = s.tls(); err != nil {
		return nil, unusable(variable, err)
	}
	out.client = &http.Client{
		Transport: transport, Timeout: timeout,
		// Headers may be credentials: they go to the collector alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return out, nil
}

// address is where the signal goes: its own variable as it is, or the one for both and the path.
func (s signal) address() (address, variable string, err error) {
	own := "OTEL_EXPORTER_OTLP_" + s.variable + "_ENDPOINT"
	text, variable := s.setting("ENDPOINT")
	u, err := url.Parse(cmp.Or(text, "http://localhost:4318"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", variable, errAddress
	}
	if variable != own || text == "" {
		u = u.JoinPath(s.path)
	} else if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), variable, nil
}

func headers(text string) (http.Header, error) {
	h := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name, nameErr := url.PathUnescape(strings.TrimSpace(name))
		value, valueErr := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || nameErr != nil || valueErr != nil || strings.ContainsAny(name+value, "\r\n") {
			return nil, errHeaders
		}
		h.Set(name, value)
	}
	return h, nil
}

// tls is the configuration that the certificates' variables ask for; nil for none.
func (s signal) tls() (c *tls.Config, variable string, err error) {
	authority, variable := s.setting("CERTIFICATE")
	if authority != "" {
		pem, err := os.ReadFile(authority) //nolint:gosec // the operator names the file
		if err != nil {
			return nil, variable, err
		}
		c = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, variable, errCertificate
		}
	}
	certificate, variable := s.setting("CLIENT_CERTIFICATE")
	key, _ := s.setting("CLIENT_KEY")
	switch {
	case certificate == "" && key == "":
		return c, variable, nil
	case certificate == "" || key == "":
		return nil, variable, errPair
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, variable, err
	}
	if c == nil {
		c = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.Certificates = []tls.Certificate{pair}
	return c, variable, nil
}

// refused is an answer of a collector that did not take what was sent.
type refused struct{ status int }

// Error implements error.
func (r *refused) Error() string {
	return fmt.Sprintf("the collector answered with status %d", r.status)
}

// mostAnswered bounds how much of an answer is read.
const mostAnswered = 4 << 20

// send posts a message and tries again for a minute at most, as long as ctx lasts: where no
// answer comes, and where the collector says that it can be tried again.
func (s *sender) send(ctx context.Context, m message) error {
	body := []byte(m)
	if s.zip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		body = b.Bytes()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, s.post(ctx, body) },
		backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval: 5 * time.Second, RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: backoff.DefaultMultiplier,
			MaxInterval: 30 * time.Second,
		}), backoff.WithMaxElapsedTime(time.Minute))
	return err
}

func (s *sender) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	req.Header = s.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "braid")
	if s.zip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswered))
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if n, why := rejected(answer); n > 0 || why != "" {
			otel.Handle(fmt.Errorf("the collector took a part of the telemetry: %d rejected: %s", n, why))
		}
		return nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && after > 0 {
			return backoff.RetryAfter(after)
		}
		return &refused{resp.StatusCode}
	default:
		return backoff.Permanent(&refused{resp.StatusCode})
	}
}

// rejected reads the partial success of an answer: its field 1 has in field 1 how many were
// rejected, and in field 2 why.
func rejected(answer message) (n int64, why string) {
	for {
		field, _, partial, ok := answer.next()
		if !ok {
			return n, why
		}
		if field != 1 {
			continue
		}
		for in := message(partial); ; {
			field, v, text, ok := in.next()
			if !ok {
				break
			}
			switch field {
			case 1:
				n = int64(v)
			case 2:
				why = string(text[:min(len(text), 300)])
			}
		}
	}
}

// stop ends what is being sent and frees the connections.
func (s *sender) stop() {
	s.end()
	s.client.CloseIdleConnections()
}
