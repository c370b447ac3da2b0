package openapitool_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

// got is a request as a server got it.
type got struct {
	*http.Request

	body string
	// fault is what another library says against the request.
	fault error
}

// server is a server of a document. It holds each request to the document with kin-openapi, which shares no code with the
// package.
type server struct {
	*httptest.Server

	mu   sync.Mutex
	last *got
	n    int
	// answer answers; nil answers 200 with {}.
	answer http.HandlerFunc
}

func serve(t *testing.T, document string) *server {
	t.Helper()
	s := &server{}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		one := &got{Request: r.Clone(t.Context()), body: string(data)}
		r.Body = io.NopCloser(bytes.NewReader(data))
		one.fault = judge(doc, r)
		s.mu.Lock()
		s.last = one
		s.n++
		answer := s.answer
		s.mu.Unlock()
		if answer != nil {
			answer(w, one.Request)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// judge returns what kin-openapi says against a request.
func judge(doc *openapi3.T, r *http.Request) error {
	for path, item := range doc.Paths.Map() {
		names := regexp.MustCompile(`\{([^}]+)\}`)
		pattern := "^" + names.ReplaceAllString(strings.NewReplacer(".", "\\.", "?", "\\?").Replace(path), "([^/]+)") + "$"
		found := regexp.MustCompile(pattern).FindStringSubmatch(r.URL.EscapedPath())
		operation := item.GetOperation(r.Method)
		if found == nil || operation == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range names.FindAllStringSubmatch(path, -1) {
			value, err := url.PathUnescape(found[i+1])
			if err != nil {
				return err
			}
			params[name[1]] = value
		}
		return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: params,
			Route:   &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: operation},
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		})
	}
	return errors.New("the document has no such path")
}

func (s *server) request(t *testing.T) *got {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		t.Fatal("the server got no request")
	}
	return s.last
}

func load(t *testing.T, document string, o openapitool.Options) *openapitool.API {
	t.Helper()
	api, err := openapitool.Load([]byte(document), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return api
}

func find(t *testing.T, api *openapitool.API, name string) tool.Tool {
	t.Helper()
	var names []string
	for _, one := range api.Tools() {
		if names = append(names, one.Spec().Name); one.Spec().Name == name {
			return one
		}
	}
	t.Fatalf("there is no tool %q, only %q; left out: %v", name, names, api.Skipped())
	return nil
}

func call(t *testing.T, api *openapitool.API, name, args string) (tool.Output, error) {
	t.Helper()
	return find(t, api, name).Call(t.Context(), json.RawMessage(args))
}

func text(out tool.Output) string {
	var b strings.Builder
	for _, one := range out.Content {
		if one, ok := one.(*event.Text); ok {
			b.WriteString(one.Text + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// document makes a document of paths and components, of the version.
func document(version, paths, components string) string {
	return `{"openapi":"` + version + `","info":{"title":"Test","version":"1"},"paths":{` + paths + `},"components":{` + components + `}}`
}

// responses ends an operation: the other library wants them.
const responses = `"responses":{"200":{"description":"OK"}}`
