package recordings

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Exchange is one request with its response.
type Exchange struct {
	// File is the path below the folder of the recordings.
	File string
	URL  string
	// Request and Answer are the bodies.
	Request, Answer string
	Status          int
	Header          http.Header
	// Stream reports that the response is a stream.
	Stream bool
	// Next is the next request of the same conversation; "" means none.
	Next string
}

// Of reads the exchanges in the files that match the patterns below the folder of the recordings,
// such as "TestAnthropic*/*/*.yaml". The test fails if a pattern matches no file, or if there are
// fewer exchanges than least.
func Of(tb testing.TB, least int, patterns ...string) []Exchange {
	tb.Helper()
	root := os.Getenv("BRAID_FIXTURES")
	if root == "" {
		tb.Skip("BRAID_FIXTURES does not name the folder of the recordings")
	}
	var out []Exchange
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, "provider-recordings", pattern))
		if err != nil || len(files) == 0 {
			tb.Fatalf("no recordings of %s: %v", pattern, err)
		}
		for _, file := range files {
			out = append(out, read(tb, root, file)...)
		}
	}
	if len(out) < least {
		tb.Fatalf("only %d recordings", len(out))
	}
	return out
}

// streams are the content types of streams.
var streams = []string{"text/event-stream", "application/vnd.amazon.eventstream"}

func read(tb testing.TB, root, file string) []Exchange {
	tb.Helper()
	data, err := os.ReadFile(file) //nolint:gosec // it is one of the fixtures
	if err != nil {
		tb.Fatal(err)
	}
	var tape struct {
		Interactions []struct {
			Request struct {
				Body, URL string
			}
			Response struct {
				Body    string
				Code    int
				Headers map[string][]string
			}
		}
	}
	if err := yaml.Unmarshal(data, &tape); err != nil {
		tb.Fatal(err)
	}
	name, _ := filepath.Rel(root, file) // both begin at root
	out := make([]Exchange, len(tape.Interactions))
	for i := range tape.Interactions {
		x := &tape.Interactions[i]
		e := Exchange{
			File: name, URL: x.Request.URL, Request: x.Request.Body, Answer: x.Response.Body, Status: x.Response.Code,
			Header: http.Header(x.Response.Headers),
		}
		kind, _, _ := strings.Cut(e.Header.Get("Content-Type"), ";")
		e.Stream = slices.Contains(streams, strings.TrimSpace(kind))
		if i+1 < len(tape.Interactions) {
			e.Next = tape.Interactions[i+1].Request.Body
		}
		out[i] = e
	}
	return out
}
