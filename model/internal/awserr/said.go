package awserr

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/model/internal/provider"
)

// Said is an error response of Bedrock. It does not contain the request, which is signed.
type Said struct {
	// Status is 0 inside a stream.
	Status int
	// Kind is the name of the exception as Bedrock wrote it.
	Kind      string
	Message   string
	RequestID string
	After     time.Duration
	// Original is the status of the model itself. 0 means none.
	Original int
}

// Error implements error, for operators.
func (s *Said) Error() string {
	text := s.Kind
	if s.Status != 0 {
		text = strconv.Itoa(s.Status) + " " + text
	}
	if s.RequestID != "" {
		text += ", request " + s.RequestID
	}
	return text
}

// Before returns the error response that came instead of a stream.
func Before(status int, header http.Header, body []byte, now time.Time) *Said {
	s := &Said{
		Status: status, Kind: header.Get("X-Amzn-Errortype"), RequestID: header.Get("X-Amzn-Requestid"), After: provider.RetryAfter(header, now),
	}
	s.read(body)
	return s
}

// Exception returns what ended a stream: an exception, whose name begins with a lower-case letter
// there, or an error, whose message is in a header.
func Exception(name, message string, payload []byte) *Said {
	s := &Said{Kind: name, Message: message}
	s.read(payload)
	return s
}

// read parses a body. The API and gateways have several forms; a proxy's page has none of them.
func (s *Said) read(body []byte) {
	var said struct {
		Message string `json:"message"` // or Message: the case does not count
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Inner   string `json:"originalMessage"`
		Status  int    `json:"originalStatusCode"`
	}
	if json.Unmarshal(body, &said) == nil {
		s.Message = cmp.Or(s.Message, said.Message, said.Inner)
		s.Kind = cmp.Or(s.Kind, said.Type, said.Code)
		s.Original = said.Status
	}
	// "ThrottlingException:http://internal.amazon.com/…" and "com.amazon#Throttling…"
	s.Kind, _, _ = strings.Cut(s.Kind, ":")
	s.Kind = s.Kind[strings.LastIndexByte(s.Kind, '#')+1:]
}
