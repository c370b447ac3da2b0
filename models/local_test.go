package models

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serve answers on the loopback interface and gives the address.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func saying(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(body))
	}
}

func TestProbeFindsModelServersOnly(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	two := serve(t, saying(`{"object":"list","data":[{"id":"qwen3:8b"},{"id":"bad\u001b[31m"},{"id":"gemma3"}]}`))
	empty := serve(t, saying(`{"data":[]}`))
	many := serve(t, saying(`{"data":[`+strings.Repeat(`{"id":"m"},`, 14)+`{"id":"m"}]}`))
	addresses := []string{
		two,
		serve(t, saying(`<html>a web page</html>`)),
		serve(t, saying(`{"data":null}`)),
		serve(t, saying(`{"models":[]}`)),
		serve(t, saying(`{"data":[{"id":"`+strings.Repeat("x", probeSize)+`"}]}`)),
		serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			saying(`{"data":[]}`)(w, r)
		}),
		serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+two+"/v1/models", http.StatusFound)
		}),
		serve(t, func(_ http.ResponseWriter, r *http.Request) { // never answers
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}),
		"127.0.0.1:1", // nobody
		"192.0.2.1:80", "example.com:80", "localhost:80", "no address",
		empty, many,
	}
	got := probe(t.Context(), addresses)
	want := []Server{
		{Address: two, Models: []string{"qwen3:8b", "gemma3"}},
		{Address: empty},
		{Address: many, Models: []string{"m", "m", "m", "m", "m", "m", "m", "m", "m", "m and 5 more"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestServersInWords(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Server{
		"a model server answers at 127.0.0.1:1":                              {Address: "127.0.0.1:1"},
		"a model server answers at 127.0.0.1:1 (usually X) with the model a": {Address: "127.0.0.1:1", Name: "X", Models: []string{"a"}},
		"a model server answers at 127.0.0.1:1 with the models a, b":         {Address: "127.0.0.1:1", Models: []string{"a", "b"}},
	} {
		if s.String() != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
}

func TestServersAreUsedByAName(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Server{
		"use it with --model ollama:qwen3:8b":                                    {Name: "Ollama", Address: "127.0.0.1:11434", Models: []string{"qwen3:8b and 5 more"}},
		"use it with --model ollama:NAME":                                        {Name: "Ollama", Address: "127.0.0.1:11434"},
		"use it with --model openai:Qwen/Qwen3-8B?base=http://127.0.0.1:8000/v1": {Name: "vLLM", Address: "127.0.0.1:8000", Models: []string{"Qwen/Qwen3-8B"}},
	} {
		if s.use() != want {
			t.Errorf("%q, want %q", s.use(), want)
		}
	}
}

// Looking for servers chooses none and stops with its context.
func TestOfferChoosesNothing(t *testing.T) {
	t.Parallel()
	d := Detect(none, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.Offer(ctx)
	if d.Model != "demo" || len(d.Offers) != 0 {
		t.Errorf("%+v", d)
	}
	d.Offer(t.Context()) // whatever runs on this machine
	if d.Model != "demo" || len(d.Offers) != len(d.Servers) {
		t.Errorf("%+v", d)
	}
}

// answering stands in for a network in which everybody is a model server.
type answering struct{}

func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, err := w.WriteString(`{"data":[{"id":"far"}]}`)
	return w.Result(), err
}

func TestOnlyThisMachineIsAsked(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: answering{}}
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "192.0.2.1:80": false, "localhost:80": false, "10.0.0.1:80": false, "0.0.0.0:80": false, "x": false,
	} {
		if names, err := list(t.Context(), client, address); (err == nil) != want {
			t.Errorf("%s: %v, %v", address, names, err)
		}
	}
}
