package anthropictest

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// Key is the only key that the server takes.
const Key = "sk-ant-test-0000000000000000"

// Server is the API. Its methods are safe for concurrent use: Close, Add, Client,
// Asked (the requests so far) and Left (whether a client went away from an answer
// that had not ended). URL is what goes in ANTHROPIC_BASE_URL.
type Server struct {
	*vendortest.Server

	// Window is how many tokens a request may have, four bytes each; 0 is a million.
	Window int

	// Ahead is by how much the clock of Bedrock's server goes before this machine's.
	Ahead time.Duration

	// bedrock is set where it is Amazon Bedrock, vertex where it is Vertex AI.
	bedrock, vertex bool

	mu   sync.Mutex
	said map[string]string // signatures that were given, and the thinking that they are of
	kept map[string]File   // files that were uploaded, by id
}

// Request is a request as it came, accepted or refused: its Path, Header, Body,
// and Refused, what the server would not take.
type Request = vendortest.Request

// Answer is what the server says to one request that it takes: Status, Header and
// Body, all of it at once or Slow; Cut (the connection breaks after so many
// bytes), Short (it ends there in good order), Stall (nothing more comes behind
// Body) and Silent (nothing comes at all).
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

// learn remembers the signatures in a stream, because no others are taken back.
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

// Trust makes the server take a signature that it has not given itself.
func (s *Server) Trust(signature, thinking string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[signature] = thinking
}
