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

// Answer is what a server says to one request that it takes.
type Answer struct {
	// Status is 200 where it is 0.
	Status int
	Header map[string]string
	// Body is all of it; a stream is a body too.
	Body string
	// Cut breaks the connection once so many bytes of Body are sent, where it is
	// above 0; Short ends the answer there in good order.
	Cut   int
	Short int
	// Stall sends nothing more behind Body until the client has gone.
	Stall bool
	// Silent stalls before the first byte of the header.
	Silent bool
	// Slow sends one byte at a time.
	Slow bool
}

// Request is a request as it came, accepted or refused.
type Request struct {
	// Path is as it was sent, with what was escaped in it.
	Path   string
	Header http.Header
	Body   []byte
	// Refused is what the server would not take; "" where it took it.
	Refused string
}

// Refusal is what a server says to a request that it does not take.
type Refusal struct {
	// Why is for those who look at what was asked.
	Why    string
	Answer Answer
}

// Rules are what a provider's server has of its own.
type Rules struct {
	// Type is the content type of answers that name none.
	Type string
	// ID is the header that numbers the answers.
	ID string
	// Largest is how long a request may be, in bytes. Check is given one byte more
	// of one that is longer.
	Largest int64
	// Check says what the provider would refuse a request for; nil is nothing. It
	// is called by several goroutines at once.
	Check func(r *http.Request, body []byte) *Refusal
	// Learn, unless it is nil, is shown each answer once, in their order, when [Server.Recall]
	// asks for it; one with the same body as the one before it says nothing new.
	Learn func(Answer)
	// Answer, unless it is nil, makes the answer to a request for which none is
	// prepared. Several goroutines call it at once.
	Answer func(r *http.Request, body []byte) Answer
	// Unprepared is said where no answer is left.
	Unprepared Answer
}

// Server listens on loopback, or in memory where testing/synctest is at work. Its methods are safe
// for concurrent use.
type Server struct {
	// URL is where it listens.
	URL string

	rules Rules
	http  *httptest.Server
	gone  chan struct{}
	// recall is held while answers are learned.
	recall  sync.Mutex
	mu      sync.Mutex
	answers []Answer
	// fresh are answers that are not learned yet.
	fresh []Answer
	asked []Request
}

// Start starts a server that gives these answers, one to each request, and puts it in the place that the rules'
// functions find it at. It stands there before the first request can come: a client in another process would not
// wait for what Start gives back.
func Start(place **Server, rules Rules, answers ...Answer) {
	s := &Server{rules: rules, gone: make(chan struct{}, 64)}
	s.Add(answers...)
	server, start := loopback.Prepare(s)
	s.http = server
	s.URL = "http://" + s.Host()
	*place = s
	start()
}

// Close stops it. No request may be on its way, but one that the client has left.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Add gives it more answers.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
	if s.rules.Learn != nil {
		s.fresh = append(s.fresh, answers...)
	}
}

// Recall has the answers learned that are not yet: whoever looks up what was learned calls it
// first. Few requests hold what a server must have said itself, and to read all answers for
// those few takes longer than the tests do without it.
func (s *Server) Recall() {
	s.recall.Lock()
	defer s.recall.Unlock()
	s.mu.Lock()
	fresh := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	for i, a := range fresh {
		if i == 0 || a.Body != fresh[i-1].Body { // which says the same again
			s.rules.Learn(a)
		}
	}
}

// Client is an HTTP client whose connections end with the server.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Host is the server's host and port.
func (s *Server) Host() string { return s.http.Listener.Addr().String() }

// Asked gives the requests so far.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.asked...)
}

// Left waits until a client has gone away from an answer that had not ended. It
// is false when that did not happen within d.
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
		return // it has gone
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
		_ = flush.Flush() // a writer that cannot will say so next time
	}
	switch {
	case a.Stall:
		_ = flush.Flush() // the header at least
		s.wait(r)
	case a.Cut > 0:
		panic(http.ErrAbortHandler) //nolint:forbidigo // it is how a handler breaks a connection
	}
}

// wait waits until the client has gone.
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
