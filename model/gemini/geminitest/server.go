package geminitest

import (
	"net/http"
	"sync"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// Key is the only key that the server accepts, Token the only access token.
const (
	Key   = "AIzaTest-000000000000000000000000000000"
	Token = "ya29.test-0000000000000000"
)

// Server is the API. Its methods are safe for concurrent use. Set Window and Largest before the first request.
type Server struct {
	*vendortest.Server

	// Window is the maximum number of tokens in a request, four bytes each; 0 means a million.
	Window int
	// Largest is the maximum size of a request in bytes; 0 means 100 MiB.
	Largest int
	// Looks is how often a client asks for a file before it is ready. Broken, unless empty, is the reason why it
	// never becomes ready.
	Looks  int
	Broken string

	mu    sync.Mutex
	files map[string]*stored
	said  map[string]string // signatures that the server has given, with their parts
}

// Answer is the server's response to an accepted request.
type Answer = vendortest.Answer

// Request is a received request, accepted or refused.
type Request = vendortest.Request

// largest is the maximum size of a request (docs/file-input-methods).
const largest = 100 << 20

// Start starts a server that gives these answers, one to each request.
func Start(answers ...Answer) *Server {
	s := &Server{said: map[string]string{}, files: map[string]*stored{}}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: "text/event-stream", ID: "X-Test-Request", Largest: largest,
		Check: s.check, Learn: s.learn,
		Unprepared: Error(http.StatusInternalServerError, "INTERNAL", "The test has no answer to this request"),
	}, answers...)
	return s
}

// Trust makes the server accept a signature that it has not given. part is "text", "thought", "call " with the name
// of a function, or the name of another member of a part, such as "executableCode".
func (s *Server) Trust(signature, part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[signature] = part
}

// known returns the part that a signature was given with.
func (s *Server) known(signature string) (string, bool) {
	s.Recall()
	s.mu.Lock()
	defer s.mu.Unlock()
	part, ok := s.said[signature]
	return part, ok
}
