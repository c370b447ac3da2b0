package vendortest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid/internal/loopback"
)

// Answer is a server's response to an accepted request.
type Answer struct {
	// Status is the HTTP status; 0 means 200.
	Status int
	Header map[string]string
	// Body is the whole body, also of a stream.
	Body string
	// Cut, if above 0, breaks the connection after this many bytes of Body. Short ends the response there regularly.
	Cut   int
	Short int
	// Stall sends nothing after Body until the client has disconnected.
	Stall bool
	// Silent stalls before the first byte of the header.
	Silent bool
	// Slow sends one byte at a time.
	Slow bool
}

// Request is a received request, accepted or refused.
type Request struct {
	// Path is as sent, including escapes.
	Path   string
	Header http.Header
	Body   []byte
	// Refused is the reason for which the server refused the request; "" means accepted.
	Refused string
}

// Refusal is a server's response to a request that it refuses.
type Refusal struct {
	// Why is the reason, for [Request].Refused.
	Why    string
	Answer Answer
}

// Rules are the parts of a server that differ by provider.
type Rules struct {
	// Type is the content type of answers without one.
	Type string
	// ID is the response header that holds the answer's number.
	ID string
	// Largest is the maximum size of a request in bytes. For a longer one Check gets one byte more than Largest.
	Largest int64
	// Check returns the provider's reason to refuse a request; nil accepts it. It must be safe for concurrent use.
	Check func(r *http.Request, body []byte) *Refusal
	// Learn, unless nil, gets each answer once, in order, when a test calls [Server.Recall]. It does not get an
	// answer with the same body as the previous one.
	Learn func(Answer)
	// Answer, unless nil, makes the answer to a request without a prepared one. It must be safe for concurrent use.
	Answer func(r *http.Request, body []byte) Answer
	// Unprepared is the answer when no prepared answer is left.
	Unprepared Answer
}

// Server listens on loopback, or in memory inside a testing/synctest bubble. Its methods are safe for concurrent use.
type Server struct {
	// URL is the server's address.
	URL string

	rules Rules
	http  *httptest.Server
	gone  chan struct{}
	// recall is held while answers are learned.
	recall  sync.Mutex
	mu      sync.Mutex
	answers []Answer
	// fresh are the answers that are not learned yet.
	fresh []Answer
	asked []Request
}

// Start starts a server that gives these answers, one to each request. It sets *place, where the rules' functions
// find the server, before the server accepts a request: a client in another process does not wait for Start to
// return.
func Start(place **Server, rules Rules, answers ...Answer) {
	s := &Server{rules: rules, gone: make(chan struct{}, 64)}
	s.Add(answers...)
	server, start := loopback.Prepare(s)
	s.http = server
	s.URL = "http://" + s.Host()
	*place = s
	start()
}

// Close stops the server. No request may be open, except one that its client has left.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Add adds answers.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
	if s.rules.Learn != nil {
		s.fresh = append(s.fresh, answers...)
	}
}

// Recall passes all new answers to Learn; call it before looking up what was learned. Only few requests need it, and
// learning every answer at once would take longer than the rest of the tests.
func (s *Server) Recall() {
	s.recall.Lock()
	defer s.recall.Unlock()
	s.mu.Lock()
	fresh := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	for i, a := range fresh {
		if i == 0 || a.Body != fresh[i-1].Body { // the same as the previous one
			s.rules.Learn(a)
		}
	}
}

// Client is an HTTP client whose connections end with the server.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Host returns the server's host and port.
func (s *Server) Host() string { return s.http.Listener.Addr().String() }

// Asked returns the requests so far.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.asked...)
}

// Left waits until a client has disconnected before the end of its answer. It reports false if that does not happen
// within d.
func (s *Server) Left(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-s.gone:
		return true
	case <-ctx.Done():
		return false
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, s.rules.Largest+1))
	if err != nil {
		return // the client has disconnected
	}
	no := s.rules.Check(r, body)
	s.mu.Lock()
	asked := Request{Path: r.URL.EscapedPath(), Header: r.Header.Clone(), Body: body}
	a, improvise := s.rules.Unprepared, false
	switch {
	case no != nil:
		asked.Refused, a = no.Why, no.Answer
	case len(s.answers) > 0:
		a, s.answers = s.answers[0], s.answers[1:]
	case s.rules.Answer != nil:
		improvise = true
	}
	s.asked = append(s.asked, asked)
	n := len(s.asked)
	s.mu.Unlock()
	if improvise {
		a = s.rules.Answer(r, body)
	}
	s.say(w, r, a, n)
}

func (s *Server) say(w http.ResponseWriter, r *http.Request, a Answer, n int) {
	if a.Silent {
		s.wait(r)
		return
	}
	w.Header().Set("Content-Type", s.rules.Type)
	w.Header().Set(s.rules.ID, "req_test_"+strconv.Itoa(n))
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	out := []byte(a.Body)
	if a.Cut > 0 {
		out = out[:min(a.Cut, len(out))]
	}
	if a.Short > 0 {
		out = out[:min(a.Short, len(out))]
	}
	flush := http.NewResponseController(w)
	for len(out) > 0 {
		k := len(out)
		if a.Slow {
			k = 1
		}
		if _, err := w.Write(out[:k]); err != nil {
			s.left()
			return
		}
		out = out[k:]
		_ = flush.Flush() // a writer that fails reports it at the next write
	}
	switch {
	case a.Stall:
		_ = flush.Flush() // send the header at least
		s.wait(r)
	case a.Cut > 0:
		panic(http.ErrAbortHandler) //nolint:forbidigo // a handler breaks a connection this way
	}
}

// wait waits until the client has disconnected.
func (s *Server) wait(r *http.Request) {
	<-r.Context().Done()
	s.left()
}

func (s *Server) left() {
	select {
	case s.gone <- struct{}{}:
	default:
	}
}
