package openaitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/braidrun/braid/model/internal/vendortest"
)

// Key is the only key that the server accepts.
const Key = "sk-proj-test-0000000000000000"

// Server is the API. Its methods are safe for concurrent use: Close, Add, Client, Host, Asked (the requests so far)
// and Left (whether a client disconnected before the end of an answer). URL is the value for OPENAI_BASE_URL.
type Server struct {
	*vendortest.Server

	// Compatible makes the server behave as a compatible one and not as the vendor's. Set it before the first
	// request.
	Compatible bool
	// Window is the maximum number of tokens in a request, four bytes each; 0 means a million.
	Window int

	mu sync.Mutex
	// said maps the encrypted content that the server has given to its items. led is the reasoning before items of
	// tools that the vendor runs.
	said, led map[string]string
	// files are the uploaded files by id.
	files map[string]File
	named int
}

// Request is a received request, accepted or refused: its Path, Header, Body, and Refused, the reason for a refusal.
type Request = vendortest.Request

// Answer is the server's response to an accepted request. It has Status and Header. Body is sent at once, or Slow,
// byte by byte. Cut breaks the connection after this many bytes, and Short ends the answer there regularly. Stall
// sends nothing after Body, and Silent sends nothing at all.
type Answer = vendortest.Answer

// Start starts a server that gives these answers, one to each request.
func Start(answers ...Answer) *Server {
	s := &Server{said: map[string]string{}, led: map[string]string{}, files: map[string]File{}}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: "text/event-stream; charset=utf-8", ID: "X-Request-ID", Largest: largest, Check: s.refuse, Learn: s.learn,
		Unprepared: Error(http.StatusInternalServerError, "server_error", "", "The test has no answer to this request"),
	}, answers...)
	s.URL += "/v1"
	return s
}

func (s *Server) refuse(r *http.Request, body []byte) *vendortest.Refusal {
	no := &refusal{status: http.StatusRequestEntityTooLarge, code: "request_too_large", message: "Request body too large"}
	if len(body) <= largest {
		no = s.check(r, body)
	}
	switch {
	case no != nil:
	case strings.HasPrefix(r.URL.Path, "/v1/files"):
		return &vendortest.Refusal{Answer: s.file(r, body)}
	case r.URL.Path == "/v1/responses/input_tokens":
		return &vendortest.Refusal{Answer: reply(http.StatusOK, fmt.Sprintf(`{"object":"response.input_tokens","input_tokens":%d}`, len(body)/4))}
	default:
		return nil
	}
	return &vendortest.Refusal{Why: no.message, Answer: Error(no.status, "invalid_request_error", no.code, no.message)}
}

// learn records the reasoning in a stream, because the server accepts no other.
func (s *Server) learn(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := ""
	for line := range bytes.Lines([]byte(a.Body)) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var e struct {
			Type string `json:"type"`
			Item struct {
				Type   string `json:"type"`
				ID     string `json:"id"`
				Sealed string `json:"encrypted_content"`
			} `json:"item"`
		}
		if ok && json.Unmarshal(data, &e) == nil && e.Item.Sealed != "" {
			s.said[e.Item.Sealed] = e.Item.ID
		}
		if e.Type != "response.output_item.done" {
			continue
		}
		if before != "" && hosted[e.Item.Type] != nil {
			s.led[e.Item.ID] = before
		}
		if before = ""; e.Item.Type == "reasoning" && e.Item.Sealed != "" {
			before = e.Item.ID
		}
	}
}
