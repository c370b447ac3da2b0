package openaitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Key is the only key that the server takes.
const Key = "sk-proj-test-0000000000000000"

// Server is the API. Its methods are safe for concurrent use.
type Server struct {
	// URL is what goes in OPENAI_BASE_URL.
	URL string
	// Compatible is set before the first request where the server is not the
	// vendor's.
	Compatible bool
	// Window is how many tokens a request may have, four bytes each; 0 is a million.
	Window int

	http    *httptest.Server
	mu      sync.Mutex
	answers []Answer
	asked   []Request
	said    map[string]string // encrypted reasoning that was given, and the item that it is of
	gone    chan struct{}
}

// Request is a request as it came, accepted or refused.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	// Refused is what the server would not take; "" where it took it.
	Refused string
}

// Answer is what the server says to one request that it takes.
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

// Start starts a server that gives these answers, one to each request.
func Start(answers ...Answer) *Server {
	s := &Server{answers: answers, said: map[string]string{}, gone: make(chan struct{}, 64)}
	for _, a := range answers {
		s.learn(a.Body)
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + "/v1"
	return s
}

// Close stops it. No request may be on its way, but one that the client has left.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Add gives it more answers.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	s.answers = append(s.answers, answers...)
	s.mu.Unlock()
	for _, a := range answers {
		s.learn(a.Body)
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
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest+1))
	no := &refusal{status: http.StatusRequestEntityTooLarge, code: "request_too_large", message: "Request body too large"}
	if err == nil && len(body) <= largest {
		no = s.check(r, body)
	}
	s.mu.Lock()
	asked := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	var a Answer
	switch {
	case no != nil:
		asked.Refused = no.message
		a = Error(no.status, "invalid_request_error", no.code, no.message)
	case len(s.answers) == 0:
		a = Error(http.StatusInternalServerError, "server_error", "", "The test has no answer to this request")
	default:
		a, s.answers = s.answers[0], s.answers[1:]
	}
	s.asked = append(s.asked, asked)
	n := len(s.asked)
	s.mu.Unlock()
	s.say(w, r, a, n)
}

func (s *Server) say(w http.ResponseWriter, r *http.Request, a Answer, n int) {
	if a.Silent {
		s.wait(r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Request-ID", "req_test_"+strconv.Itoa(n))
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

// learn remembers the reasoning in a stream, because no other is taken back.
func (s *Server) learn(body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.Lines([]byte(body)) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var e struct {
			Item struct {
				ID     string `json:"id"`
				Sealed string `json:"encrypted_content"`
			} `json:"item"`
		}
		if ok && json.Unmarshal(data, &e) == nil && e.Item.Sealed != "" {
			s.said[e.Item.Sealed] = e.Item.ID
		}
	}
}
