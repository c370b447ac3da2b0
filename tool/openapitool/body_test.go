package openapitool_test

import (
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"

	"github.com/braidrun/braid/tool/openapitool"
)

func bodyDocument(content string) string {
	return document("3.0.3", `"/":{"post":{"operationId":"x","requestBody":{"required":true,"content":{`+content+`}},`+responses+`}}`, "")
}

func TestBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, args, media, want string }{
		{
			"JSON as it is written", `"text/plain":{"schema":{"type":"string"}},"application/json":{"schema":{"type":"object"}}`,
			`{"body":{"b":1.10,"a":12345678901234567890}}`, "application/json", `{"b":1.10,"a":12345678901234567890}`,
		},
		{"JSON of a vendor", `"application/vnd.api+json":{"schema":{}}`, `{"body":[1]}`, "application/vnd.api+json", `[1]`},
		{
			"a form", `"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"string"},"l":{"type":"array","items":{"type":"integer"}}}}}`,
			`{"body":{"a":"x y&=","l":[1,2]}}`, "application/x-www-form-urlencoded", "a=x%20y%26%3D&l=1&l=2",
		},
		{
			"a form with styles", `"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"o":{"type":"object","properties":{"k":{"type":"string"}}},"l":{"type":"array","items":{"type":"string"}}}},"encoding":{"o":{"style":"deepObject","explode":true},"l":{"style":"pipeDelimited","explode":false}}}`,
			`{"body":{"o":{"k":"v"},"l":["a","b"]}}`, "application/x-www-form-urlencoded", "o%5Bk%5D=v&l=a%7Cb",
		},
		{"text", `"text/plain":{"schema":{"type":"string"}}`, `{"body":"line\nline"}`, "text/plain", "line\nline"},
		{"bytes", `"application/octet-stream":{"schema":{"type":"string","format":"binary"}}`, `{"body":"data:image/png;base64,iVBORw=="}`, "image/png", "\x89PNG"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc := bodyDocument(c.content)
			s := serve(t, doc)
			if _, err := call(t, load(t, doc, openapitool.Options{Server: s.URL}), "x", c.args); err != nil {
				t.Fatal(err)
			}
			r := s.request(t)
			if r.body != c.want || r.Header.Get("Content-Type") != c.media {
				t.Errorf("sent %q as %s", r.body, r.Header.Get("Content-Type"))
			}
			if r.fault != nil && c.media != "image/png" && !strings.Contains(c.name, "styles") {
				t.Error(r.fault)
			}
			if c.media == "application/x-www-form-urlencoded" {
				if _, err := url.ParseQuery(r.body); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	doc := bodyDocument(`"multipart/form-data":{"schema":{"type":"object","required":["file"],"properties":{
		"file":{"type":"string","format":"binary"},"note":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},
		"meta":{"type":"object","properties":{"a":{"type":"integer"}}}}},"encoding":{"note":{"contentType":"text/markdown"}}}`)
	s := serve(t, doc)
	args := `{"body":{"file":"data:text/csv;base64,YSxi","note":"hi","tags":["x","y"],"meta":{"a":1}}}`
	if _, err := call(t, load(t, doc, openapitool.Options{Server: s.URL}), "x", args); err != nil {
		t.Fatal(err)
	}
	r := s.request(t)
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		t.Fatal(kind, err)
	}
	var parts []string
	for m := multipart.NewReader(strings.NewReader(r.body), params["boundary"]); ; {
		p, err := m.NextPart()
		if err != nil {
			break
		}
		data, _ := io.ReadAll(p)
		parts = append(parts, p.FormName()+"|"+p.FileName()+"|"+p.Header.Get("Content-Type")+"|"+string(data))
	}
	if all := strings.Join(parts, "\n"); all != "file|file|text/csv|a,b\nnote||text/markdown|hi\ntags|||x\ntags|||y\nmeta||application/json|{\"a\":1}" {
		t.Errorf("the parts are\n%s", all)
	}
}

// A field's name cannot add a header or another field to its part.
func TestMultipartNames(t *testing.T) {
	t.Parallel()
	doc := bodyDocument(`"multipart/form-data":{"schema":{"type":"object"}}`)
	s := serve(t, doc)
	args := `{"body":{"a\"; filename=\"x\"\r\nX-Evil: 1\r\n\r\n":"v"}}`
	if _, err := call(t, load(t, doc, openapitool.Options{Server: s.URL}), "x", args); err != nil {
		t.Fatal(err)
	}
	if body := s.request(t).body; strings.Contains(body, "\nX-Evil") || strings.Contains(body, `filename="x"`) {
		t.Errorf("sent %q", body)
	}
}
