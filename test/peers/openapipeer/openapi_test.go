//go:build peers

package openapipeer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BRAID_PEERS_OPENAPI")
	if dir == "" {
		t.Skip("run it with scripts/test-peers openapi")
	}
	return filepath.Join(dir, "node_modules")
}

// judge is a server of a document that holds requests to it with kin-openapi.
type judge struct {
	doc *openapi3.T
	// next is the operation that is being called.
	next  *openapitool.Tool
	fault error
	asked bool
}

// errUnmade is a schema for which the test makes no value that fits.
var errUnmade = errors.New("no value was made that fits the schema")

var braces = regexp.MustCompile(`\{([^}]+)\}`)

func (j *judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.asked = true
	j.fault = j.check(r)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

func (j *judge) check(r *http.Request) error {
	path, _, _ := strings.Cut(j.next.Path(), "#")
	path, _, _ = strings.Cut(path, "?")
	item := j.doc.Paths.Value(j.next.Path())
	if r.Method != j.next.Method() || item == nil || item.GetOperation(r.Method) == nil {
		return fmt.Errorf("%s %s is not the operation", r.Method, r.URL)
	}
	pattern := "^"
	for i, part := range braces.Split(path, -1) {
		if i > 0 {
			pattern += "([^/]*?)"
		}
		pattern += regexp.QuoteMeta(part)
	}
	found := regexp.MustCompile(pattern + "$").FindStringSubmatch(r.URL.EscapedPath())
	if found == nil {
		return fmt.Errorf("%s does not fit %s", r.URL.EscapedPath(), path)
	}
	params := map[string]string{}
	for i, name := range braces.FindAllStringSubmatch(path, -1) {
		value, err := url.PathUnescape(found[i+1])
		if err != nil {
			return err
		}
		params[name[1]] = value
	}
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params,
		Route:   &routers.Route{Spec: j.doc, Path: j.next.Path(), PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
	})
}

// play calls every operation of a document, and returns how many the other library accepted.
func play(t *testing.T, file string) (fine, all int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Logf("the other library does not read %s: %v", filepath.Base(file), err)
		return 0, 0
	}
	j := &judge{doc: doc}
	s := httptest.NewServer(j)
	defer s.Close()
	api, err := openapitool.Load(data, openapitool.Options{Server: s.URL})
	if err != nil {
		t.Logf("%s: %v", filepath.Base(file), err)
		return 0, 0
	}
	defer api.Close()
	for _, left := range api.Skipped() {
		t.Errorf("%s: %s is left out: %s", filepath.Base(file), left.Tool, left.Why)
	}
	for _, one := range api.Tools() {
		all++
		j.next, _ = one.(*openapitool.Tool)
		switch err := j.call(t, one); {
		case errors.Is(err, errUnmade):
			t.Logf("%s: %s: %v", filepath.Base(file), one.Spec().Name, err)
			continue
		case err != nil && excused(err):
			continue
		case err != nil:
			t.Errorf("%s: %s: %v", filepath.Base(file), one.Spec().Name, err)
			continue
		}
		fine++
	}
	return fine, all
}

func (j *judge) call(t *testing.T, one tool.Tool) error {
	t.Helper()
	if err := tool.CheckSchema(one.Spec()); err != nil {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(one.Spec().Schema, &schema); err != nil {
		return err
	}
	defs, _ := schema["$defs"].(map[string]any)
	var args bytes.Buffer
	enc := json.NewEncoder(&args)
	enc.SetEscapeHTML(false)
	if err := enc.Encode((&maker{defs: defs}).value(schema, 0)); err != nil {
		return err
	}
	check, err := schemacheck.Compile(one.Spec().Schema)
	if err != nil {
		return err
	}
	if err := check.Check(nil, args.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", errUnmade, err)
	}
	j.fault, j.asked = nil, false
	if _, err := one.Call(t.Context(), args.Bytes()); err != nil {
		return fmt.Errorf("called with %.300s: %w", args.String(), err)
	}
	if !j.asked {
		return errors.New("nothing was sent")
	}
	if j.fault != nil {
		text, _, _ := strings.Cut(j.fault.Error(), "\nSchema:")
		return fmt.Errorf("called with %.300s: %s", args.String(), text)
	}
	return nil
}

// Every operation of ReadMe's examples: parameters of all styles, bodies, cycles, polymorphism.
func TestReadMeExamples(t *testing.T) {
	dir := folder(t)
	files, err := filepath.Glob(filepath.Join(dir, "@readme/oas-examples/3.*/json/*.json"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	documents := 0
	for _, file := range files {
		fine, all := play(t, file)
		t.Logf("%s: %d of %d operations", filepath.Base(file), fine, all)
		if all > 0 {
			documents++
		}
	}
	if documents < 10 {
		t.Errorf("only %d documents have operations", documents)
	}
}

// Every operation of GitHub's API, whose document loads within 300 ms on two quiet cores.
func TestGitHub(t *testing.T) {
	file := filepath.Join(folder(t), "@octokit/openapi/generated/api.github.com.json")
	fine, all := play(t, file)
	t.Logf("%d of %d operations", fine, all)
	if fine < 1200 {
		t.Errorf("only %d operations", fine)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	best := time.Hour
	for range 5 {
		began := time.Now()
		api, err := openapitool.Load(data, openapitool.Options{})
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
		_ = api.Close()
	}
	t.Logf("loaded within %v", best)
	// A busy machine may take three times as long.
	if most := 3 * 300 * time.Millisecond; best > most {
		t.Errorf("loading takes %v for %d operations, more than %v", best, all, most)
	}
}

// matching is a text that fits a simple regular expression.
func matching(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "a"
	}
	var b strings.Builder
	write(&b, re.Simplify())
	return b.String()
}

func write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		r := re.Rune[0]
		for i := 0; i+1 < len(re.Rune); i += 2 { // a letter or digit, if there is one
			for _, want := range "a0A" {
				if re.Rune[i] <= want && want <= re.Rune[i+1] {
					r = want
				}
			}
		}
		b.WriteRune(r)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpPlus, syntax.OpCapture:
		write(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub)
		}
	case syntax.OpAlternate:
		write(b, re.Sub[0])
	}
}
