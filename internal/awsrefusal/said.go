package awsrefusal

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/internal/upstream"
)

// Said is what Bedrock said, without the request, which is signed.
type Said struct {
	// Status is 0 inside of a stream.
	Status int
	// Kind is the name of the exception, as it came.
	Kind      string
	Message   string
	RequestID string
	After     time.Duration
	// Original is the status that the model itself gave; 0 is none.
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

// Before is what was said instead of a stream.
func Before(status int, header http.Header, body []byte, now time.Time) *Said {
	s := &Said{Status: status, RequestID: header.Get("X-Amzn-Requestid"), After: upstream.RetryAfter(header, now)}
	// Behind the name may stand the address of its description.
	s.Kind, _, _ = strings.Cut(header.Get("X-Amzn-Errortype"), ":")
	var said members
	_ = json.Unmarshal(body, &said) // a proxy's page has none of them
	s.Message, s.Original = said.Message, said.Original
	if s.Kind == "" {
		s.Kind, _, _ = strings.Cut(said.Type[strings.LastIndexByte(said.Type, '#')+1:], ":")
	}
	return s
}

// Exception is what ended a stream. Its name begins with a small letter there.
func Exception(name string, payload []byte) *Said {
	var said members
	_ = json.Unmarshal(payload, &said) // the name says most of it
	return &Said{Kind: name, Message: said.Message, Original: said.Original}
}

type members struct {
	Message  string `json:"message"` // or Message: the case does not count
	Type     string `json:"__type"`
	Original int    `json:"originalStatusCode"`
}
