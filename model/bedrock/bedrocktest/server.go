package bedrocktest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/vendortest"
)

// The server accepts one pair of keys with a session token, one Bedrock API key, and one region.
const (
	Region = "us-east-1"
	KeyID  = "AKIDEXAMPLE000000000"
	Secret = "example/secret/of/the/stand-in/00000000"
	Token  = "example-session-token"
	Key    = "bedrock-api-key-example-of-the-stand-in"
)

// Config returns a configuration with credentials that the server accepts.
func Config() aws.Config {
	return aws.Config{
		Region: Region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: KeyID, SecretAccessKey: Secret, SessionToken: Token}, nil
		}),
	}
}

// KeyConfig returns a configuration with a Bedrock API key that the server accepts.
func KeyConfig() aws.Config {
	return aws.Config{
		Region: Region,
		BearerAuthTokenProvider: bearer.TokenProviderFunc(func(context.Context) (bearer.Token, error) {
			return bearer.Token{Value: Key}, nil
		}),
	}
}

// Server is the API. Its methods are safe for concurrent use: Close, Add, Client, Asked (the requests so far) and
// Left (whether a client disconnected before the end of an answer). URL is the value for [bedrock.BaseURL].
type Server struct {
	*vendortest.Server

	// Window is the maximum number of tokens in a request, four bytes each; 0 means a million.
	Window int
	// Ahead is how far the server's clock is ahead of this machine's.
	Ahead time.Duration

	mu   sync.Mutex
	said map[string]string // signatures that the server has given, with their thinking
}

// Request is a received request, accepted or refused: its Path, Header, Body, and Refused, the reason for a refusal.
type Request = vendortest.Request

// Answer is the server's response to an accepted request. It has Status and Header. Body is sent at once, or Slow,
// byte by byte. Cut breaks the connection after this many bytes, and Short ends the answer there regularly. Stall
// sends nothing after Body, and Silent sends nothing at all.
type Answer = vendortest.Answer

// largest is the maximum size of a request: 25 MB (API_runtime_InvokeModel).
const largest = 40 << 20

// Start starts a server that gives these answers, one to each request.
func Start(answers ...Answer) *Server {
	s := &Server{said: map[string]string{}}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: streamType, ID: "X-Amzn-Requestid", Largest: largest, Check: s.refuse, Learn: s.learn,
		Unprepared: Error(http.StatusInternalServerError, "InternalServerException", "The test has no answer to this request"),
	}, answers...)
	return s
}

// Bodies returns the bodies of the requests as received.
func (s *Server) Bodies() [][]byte {
	var all [][]byte
	for _, r := range s.Asked() {
		all = append(all, r.Body)
	}
	return all
}

func (s *Server) refuse(r *http.Request, body []byte) *vendortest.Refusal {
	if len(body) > largest {
		return refusal(http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", "Request size limit exceeded")
	}
	now := time.Now().Add(s.Ahead)
	if code, message := authorized(r, body, now); code != "" {
		no := refusal(http.StatusForbidden, code, message)
		no.Answer.Header["Date"] = now.UTC().Format(http.TimeFormat)
		return no
	}
	return s.check(r, body)
}

func refusal(status int, code, message string) *vendortest.Refusal {
	return &vendortest.Refusal{Why: message, Answer: Error(status, code, message)}
}

// authorized verifies a signature or a key.
func authorized(r *http.Request, body []byte, now time.Time) (code, message string) {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		if key != Key {
			return "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid."
		}
		return "", ""
	}
	return sigv4.Check(r, body, sigv4.Keys{ID: KeyID, Secret: Secret, Token: Token}, Region, "bedrock", now)
}

// learn records the signatures in a stream, because the server accepts no others.
func (s *Server) learn(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thinking := map[int]string{}
	r := awsframe.NewReader(strings.NewReader(a.Body))
	for {
		f, err := r.Next()
		if err != nil {
			return // the end, or not a stream
		}
		e, ok := readDelta(f.Payload)
		if !ok {
			continue
		}
		thinking[e.Index] += e.Delta.Reasoning.Text
		if sig := e.Delta.Reasoning.Signature; sig != "" {
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

func (s *Server) signed(signature string) (thinking string, ok bool) {
	s.Recall()
	s.mu.Lock()
	defer s.mu.Unlock()
	thinking, ok = s.said[signature]
	return thinking, ok
}
