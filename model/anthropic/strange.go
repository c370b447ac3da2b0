package anthropic

import (
	"html"
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

// strangeError is an answer that is not the API's: a page of a proxy, or of another server.
type strangeError struct {
	// kind is its content type; words are what it says to people.
	kind, words string
}

// Error implements error, for operators.
func (e *strangeError) Error() string {
	if e.kind == "" {
		return "the answer has no content type"
	}
	return "the answer is " + e.kind
}

// form says in which form the answer came.
func (e *strangeError) form() string {
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

// words are what a body that is not JSON says to people: a page's title, or a text. The
// caller makes one short line of them.
func words(kind string, body []byte) string {
	if t := title.FindSubmatch(body); t != nil {
		return strings.TrimSpace(html.UnescapeString(string(t[1])))
	}
	if kind == "text/plain" {
		return strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	}
	return ""
}
