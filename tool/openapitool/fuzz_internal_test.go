package openapitool

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// FuzzLoad holds that any document gives tools or an error: names that every provider takes, no two alike, schemas that are
// JSON objects.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"openapi":"3.0.0","servers":[{"url":"https://a.example"}],"paths":{"/{a}":{"get":{"parameters":[{"name":"a","in":"path","schema":{"$ref":"#/components/schemas/A"}}]}}},"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}}`))
	f.Add([]byte("openapi: 3.1.0\nservers: [{url: https://a.example}]\npaths: {/: {post: {requestBody: {content: {multipart/form-data: {schema: {type: object, properties: {a: {format: binary}}}}}}}}}"))
	f.Add([]byte(`{"openapi":"3.0.0","paths":{"/":{"$ref":"#/paths/~1"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		api, err := Load(data, Options{MaxOperations: 20})
		if err != nil {
			if _, ok := errors.AsType[*event.Error](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, one := range api.Tools() {
			spec := one.Spec()
			if err := tool.CheckName(spec.Name); err != nil || seen[spec.Name] || !json.Valid(spec.Schema) {
				t.Fatalf("%q, %v, %s", spec.Name, err, spec.Schema)
			}
			seen[spec.Name] = true
		}
	})
}

// FuzzPath holds that no argument leads to another host, another path or another query.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"..", ".", "a/../b", "?x=1", "#f", "%2e%2e", "@evil.example", "\\", "//evil.example", ";p=2", "\r\nHost: x"} {
		f.Add(s, "simple")
		f.Add(s, "matrix")
	}
	f.Fuzz(func(t *testing.T, value, style string) {
		if !utf8.ValidString(value) {
			return // JSON has no such texts
		}
		doc := map[string]any{
			"openapi": "3.1.0", "servers": []any{map[string]any{"url": "https://api.example/v1"}},
			"paths": map[string]any{"/a/{id}/end": map[string]any{"get": map[string]any{"operationId": "x", "parameters": []any{
				map[string]any{"name": "id", "in": "path", "style": style, "schema": map[string]any{"type": "string"}},
				map[string]any{"name": "q", "in": "query", "schema": map[string]any{"type": "string"}},
			}}}},
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		api, err := Load(data, Options{Transport: http.NewFileTransport(http.Dir("."))})
		if err != nil {
			return // no such style
		}
		args, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		one, ok := api.Tools()[0].(*Tool)
		if !ok {
			t.Fatal("it is another tool")
		}
		r, _, err := one.request(t.Context(), map[string]json.RawMessage{"id": args, "q": args})
		if err != nil {
			return
		}
		path := r.URL.EscapedPath()
		segments := strings.Split(path, "/")
		if r.URL.Scheme != "https" || r.URL.Host != "api.example" || r.URL.Fragment != "" || r.URL.User != nil || len(segments) != 5 ||
			segments[1] != "v1" || segments[2] != "a" || segments[4] != "end" || segments[3] == "." || segments[3] == ".." || segments[3] == "" {
			t.Fatalf("%q leads to %s", value, r.URL)
		}
		if len(r.URL.Query()) != 1 || r.URL.Query().Get("q") != value {
			t.Fatalf("%q has the query %q", value, r.URL.RawQuery)
		}
		if target := r.URL.RequestURI(); !strings.HasPrefix(target, "/v1/a/") || strings.ContainsAny(target, " \r\n\\#") {
			t.Fatalf("%q is sent as %q", value, target)
		}
	})
}
