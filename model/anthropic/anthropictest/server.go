package anthropictest

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// Key is the only key that the server accepts.
const Key = "sk-ant-test-0000000000000000"

// Server is the API. Its methods are safe for concurrent use: Close, Add, Client, Asked (the requests so far) and
// Left (whether a client disconnected before the end of an answer). URL is the value for ANTHROPIC_BASE_URL.
type Server struct {
	*vendortest.Server

	// Window is the maximum number of tokens in a request, four bytes each; 0 means a million.
	Window int

	// Ahead is how far the clock of Bedrock's server is ahead of this machine's.
	Ahead time.Duration

	// bedrock is set for Amazon Bedrock, vertex for Vertex AI.
	bedrock, vertex bool

	mu   sync.Mutex
	said map[string]string // signatures that the server has given, with their thinking
	kept map[string]File   // uploaded files by id
}

// Request is a received request, accepted or refused: its Path, Header, Body, and Refused, the reason for a refusal.
type Request = vendortest.Request

// Answer is the server's response to an accepted request. It has Status and Header. Body is sent at once, or Slow,
// byte by byte. Cut breaks the connection after this many bytes, and Short ends the answer there regularly. Stall
// sends nothing after Body, and Silent sends nothing at all.
type Answer = vendortest.Answer

// Start starts a server that gives these answers, one to each request.
func Start(answers ...Answer) *Server {
	s := &Server{said: map[string]string{}}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: "text/event-stream; charset=utf-8", ID: "Request-Id", Largest: largest, Check: s.refuse, Learn: s.learn,
		Unprepared: Error(http.StatusInternalServerError, "api_error", "The test has no answer to this request"),
	}, answers...)
	return s
}

func (s *Server) refuse(r *http.Request, body []byte) *vendortest.Refusal {
	if done := s.aside(r, body); done != nil {
		return done
	}
	status, kind, message := http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size"
	if len(body) <= largest {
		status, kind, message = s.check(r, body)
	}
	if status == 0 {
		return nil
	}
	return &vendortest.Refusal{Why: message, Answer: Error(status, kind, message)}
}

// learn records the signatures in a stream, because the server accepts no others.
func (s *Server) learn(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thinking := map[int]string{}
	said := []byte(a.Body)
	if s.bedrock {
		said = unframed(a.Body)
	}
	for line := range bytes.Lines(said) {
		e, ok := readEvent(line)
		if !ok {
			continue
		}
		thinking[e.Index] += e.Delta.Thinking + e.Block.Thinking
		if sig := e.Delta.Signature + e.Block.Signature; sig != "" {
			s.said[sig] = thinking[e.Index]
		}
	}
}

// Trust makes the server accept a signature that it has not given.
func (s *Server) Trust(signature, thinking string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[signature] = thinking
}
