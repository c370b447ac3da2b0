package server_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// contract is what the API's document says of answers.
var contract = sync.OnceValues(func() (*apiDocument, error) {
	raw, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	d := new(apiDocument)
	return d, json.Unmarshal(raw, d)
})

type apiDocument struct {
	Paths      map[string]map[string]struct{ Responses map[string]apiAnswer }
	Components struct{ Responses map[string]apiAnswer }
}

type apiAnswer struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema *jsonschema.Schema }
}

var placeholder = regexp.MustCompile(`\\\{\w+\\\}`)

// conforms holds a JSON answer against the document: every answer that a test here
// gets is looked at, the errors too.
func conforms(t *testing.T, method, path string, status int, kind string, raw []byte) {
	t.Helper()
	d, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	path, _, _ = strings.Cut(path, "?")
	answer := d.Components.Responses["Error"]
	for template, methods := range d.Paths {
		pattern := placeholder.ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`)
		op, ok := methods[strings.ToLower(method)]
		if !ok || !regexp.MustCompile("^"+pattern+"$").MatchString(path) {
			continue
		}
		if a, ok := op.Responses[strconv.Itoa(status)]; ok {
			answer = a
		} else if status < 400 {
			t.Errorf("%s %s: the document does not say that the answer may be %d", method, path, status)
		}
	}
	schema := answer.Content["application/json"].Schema
	if schema == nil {
		if len(raw) > 0 && kind == "application/json" {
			t.Errorf("%s %s: %d should have no JSON: %s", method, path, status, raw)
		}
		return
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, raw)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("%s %s: %d is not what the document says: %v\n%s", method, path, status, err, raw)
	}
}
