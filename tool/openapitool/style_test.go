package openapitool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

// Each place, style and explode of a parameter, for a plain value, a list and an object. The expected texts are the examples of
// the OpenAPI specification, where label follows RFC 6570.
func TestStyles(t *testing.T) {
	t.Parallel()
	const (
		plain  = `{"type":"string"}`
		list   = `{"type":"array","items":{"type":"string"}}`
		object = `{"type":"object","properties":{"R":{"type":"integer"},"G":{"type":"integer"}}}`
		blue   = `"blue"`
		colors = `["blue","black"]`
		rgb    = `{"R":100,"G":200}`
	)
	for _, c := range []struct {
		in, style     string
		explode       bool
		schema, value string
		want          string
		unread        bool // the other library cannot read the style
	}{
		{"path", "simple", false, plain, blue, "/blue", false},
		{"path", "simple", false, list, colors, "/blue,black", false},
		{"path", "simple", true, list, colors, "/blue,black", false},
		{"path", "simple", false, object, rgb, "/R,100,G,200", false},
		{"path", "simple", true, object, rgb, "/R=100,G=200", false},
		{"path", "label", false, plain, blue, "/.blue", false},
		{"path", "label", false, list, colors, "/.blue,black", false},
		{"path", "label", true, list, colors, "/.blue.black", false},
		{"path", "label", false, object, rgb, "/.R,100,G,200", false},
		{"path", "label", true, object, rgb, "/.R=100.G=200", false},
		{"path", "matrix", false, plain, blue, "/;p=blue", false},
		{"path", "matrix", false, list, colors, "/;p=blue,black", false},
		{"path", "matrix", true, list, colors, "/;p=blue;p=black", false},
		{"path", "matrix", false, object, rgb, "/;p=R,100,G,200", false},
		{"path", "matrix", true, object, rgb, "/;R=100;G=200", false},
		{"query", "form", true, plain, blue, "?p=blue", false},
		{"query", "form", false, list, colors, "?p=blue,black", false},
		{"query", "form", true, list, colors, "?p=blue&p=black", false},
		{"query", "form", false, object, rgb, "?p=R,100,G,200", false},
		{"query", "form", true, object, rgb, "?R=100&G=200", false},
		{"query", "spaceDelimited", false, list, colors, "?p=blue%20black", false},
		{"query", "pipeDelimited", false, list, colors, "?p=blue%7Cblack", false},
		{"query", "spaceDelimited", true, list, colors, "?p=blue&p=black", false},
		{"query", "pipeDelimited", false, object, rgb, "?p=R%7C100%7CG%7C200", true},
		{"query", "deepObject", true, object, rgb, "?p%5BR%5D=100&p%5BG%5D=200", false},
		{"header", "simple", false, plain, blue, "p: blue", false},
		{"header", "simple", false, list, colors, "p: blue,black", false},
		{"header", "simple", false, object, rgb, "p: R,100,G,200", false},
		{"header", "simple", true, object, rgb, "p: R=100,G=200", false},
		{"cookie", "form", true, plain, blue, "cookie p=blue", false},
		{"cookie", "form", false, list, colors, "cookie p=blue,black", true},
		{"cookie", "form", false, object, rgb, "cookie p=R,100,G,200", false},
	} {
		t.Run(fmt.Sprintf("%s %s %v %s", c.in, c.style, c.explode, c.value), func(t *testing.T) {
			t.Parallel()
			path := "/"
			if c.in == "path" {
				path = "/{p}"
			}
			doc := document("3.0.3", fmt.Sprintf(
				`%q:{"get":{"operationId":"x","parameters":[{"name":"p","in":%q,"required":true,"style":%q,"explode":%v,"schema":%s}],%s}}`,
				path, c.in, c.style, c.explode, c.schema, responses), "")
			s := serve(t, doc)
			api := load(t, doc, openapitool.Options{Server: s.URL})
			if _, err := call(t, api, "x", `{"p":`+c.value+`}`); err != nil {
				t.Fatal(err)
			}
			r := s.request(t)
			sent := r.RequestURI
			switch c.in {
			case "query":
				sent = strings.TrimPrefix(sent, "/")
			case "header":
				sent = "p: " + r.Header.Get("p")
			case "cookie":
				sent = "cookie " + r.Header.Get("Cookie")
			}
			if sent != c.want {
				t.Errorf("sent %q, want %q", sent, c.want)
			}
			if r.fault != nil && !c.unread {
				t.Errorf("another library refuses %q: %v", sent, r.fault)
			}
		})
	}
}

// What a value contains stays inside of it.
func TestEscapes(t *testing.T) {
	t.Parallel()
	doc := document("3.0.3", `"/a/{id}/b":{"get":{"operationId":"x","parameters":[
		{"name":"id","in":"path","required":true,"schema":{"type":"string"}},
		{"name":"q","in":"query","schema":{"type":"string"}},
		{"name":"r","in":"query","allowReserved":true,"schema":{"type":"string"}},
		{"name":"j","in":"query","content":{"application/json":{"schema":{"type":"object"}}}},
		{"name":"h","in":"header","schema":{"type":"string"}}],`+responses+`}}`, "")
	s := serve(t, doc)
	api := load(t, doc, openapitool.Options{Server: s.URL + "/base/"})
	for args, want := range map[string]string{
		`{"id":"."}`:                           "/base/a/%2E/b",
		`{"id":".."}`:                          "/base/a/%2E%2E/b",
		`{"id":"../../admin"}`:                 "/base/a/..%2F..%2Fadmin/b",
		`{"id":"a/b"}`:                         "/base/a/a%2Fb/b",
		`{"id":"a\\b"}`:                        "/base/a/a%5Cb/b",
		`{"id":"%2e%2e%2f"}`:                   "/base/a/%252e%252e%252f/b",
		`{"id":"x?y=1#z"}`:                     "/base/a/x%3Fy%3D1%23z/b",
		`{"id":"é \u0000"}`:                    "/base/a/%C3%A9%20%00/b",
		`{"id":"@evil.example"}`:               "/base/a/%40evil.example/b",
		`{"id":"1","q":"a&r=2 +"}`:             "/base/a/1/b?q=a%26r%3D2%20%2B",
		`{"id":"1","r":"a/b?c&d#e+f"}`:         "/base/a/1/b?r=a/b?c%26d%23e%2Bf",
		`{"id":"1","j":{"a":[1,{"b":"c d"}]}}`: "/base/a/1/b?j=%7B%22a%22%3A%5B1%2C%7B%22b%22%3A%22c%20d%22%7D%5D%7D",
		`{"id":"1","q":{"a":{"b":1}}}`:         "/base/a/1/b?a=%7B%22b%22%3A1%7D",
		`{"id":"1","q":null}`:                  "/base/a/1/b",
	} {
		if _, err := call(t, api, "x", args); err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if got := s.request(t).RequestURI; got != want {
			t.Errorf("%s is sent as %s, want %s", args, got, want)
		}
	}
	for args, why := range map[string]string{
		`{}`:                         `"id" is missing`,
		`{"id":""}`:                  "is empty",
		`{"id":"1","h":"a\r\nX: 1"}`: "control characters",
		`{"id":"1","other":2}`:       `no argument "other"`,
		`{"id":"1","id":"2"}`:        "id",
		`[1]`:                        "not an object",
		`{"id":`:                     "",
	} {
		_, err := call(t, api, "x", args)
		if _, ok := errors.AsType[*tool.ArgumentsError](err); !ok || !strings.Contains(err.Error(), why) {
			t.Errorf("%s gives %v, want an error of arguments with %q", args, err, why)
		}
	}
}
