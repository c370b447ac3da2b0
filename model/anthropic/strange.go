package anthropic

import (
	"html"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

// foreignError is a response that is not the API's: the page of a proxy or another server.
type foreignError struct {
	// kind is the content type, and words the page's readable text.
	kind, words string
}

// Error implements error, for operators.
func (e *foreignError) Error() string {
	if e.kind == "" {
		return "the answer has no content type"
	}
	return "the answer is " + e.kind
}

// form describes the content type, for messages.
func (e *foreignError) form() string {
	switch e.kind {
	case "":
		return "nothing that says its form"
	case "text/html":
		return "a web page"
	default:
		return e.kind
	}
}

var title = lazyre.New(`(?is)<title[^>]*>(.{1,400}?)</title>`)

// words returns the readable text of a body that is not JSON: a page's title, or plain text.
// The caller shortens it to one line.
func words(kind string, body []byte) string {
	if t := title.FindSubmatch(body); t != nil {
		return strings.TrimSpace(html.UnescapeString(string(t[1])))
	}
	if kind == "text/plain" {
		return strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	}
	return ""
}
