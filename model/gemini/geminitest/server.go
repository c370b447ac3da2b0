package geminitest

import (
	"net/http"
	"sync"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// Key is the only key that the server takes, Token the only access token.
const (
	Key   = "AIzaTest-000000000000000000000000000000"
	Token = "ya29.test-0000000000000000"
)

// Server is the API. Its methods are safe for concurrent use. Window and Largest
// are set before the first request.
type Server struct {
	*vendortest.Server

	// Window is how many tokens a request may have, four bytes each; 0 is a million.
	Window int
	// Largest is how many bytes a request may have; 0 is 100 MiB.
	Largest int
	// Looks is how often a file is asked for before it is ready. Broken says why it never
	// is; "" is nothing.
	Looks  int
	Broken string

	mu    sync.Mutex
	files map[string]*stored
	said  map[string]string // signatures that were given, and the part that they are of
}

// Answer is what the server says to one request that it takes.
type Answer = vendortest.Answer

// Request is a request as it came, accepted or refused.
type Request = vendortest.Request

// largest is how long a request may be (docs/file-input-methods).
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

// Trust makes the server take a signature that it has not given itself: of a part
// that is "text", "thought", "call " and the name of a function, or has the name of another
// member of a part, such as "executableCode".
func (s *Server) Trust(signature, part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[signature] = part
}

// known is the part that a signature was given with.
func (s *Server) known(signature string) (string, bool) {
	s.Recall()
	s.mu.Lock()
	defer s.mu.Unlock()
	part, ok := s.said[signature]
	return part, ok
}
