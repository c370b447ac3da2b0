package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

// Without a search of tools, the model is shown all operations.
func TestAnAPIWithoutASearch(t *testing.T) {
	t.Parallel()
	for search, want := range map[int]bool{0: false, 20: true} {
		_, many := sourceOf(&openapitool.API{}, search).(tool.ManySource)
		if many != want {
			t.Errorf("with --tool-search %d the API lets the model search: %v", search, many)
		}
	}
}

const petDocument = `
openapi: 3.0.3
info: {title: Pets, version: "1"}
paths:
  /pets/{id}:
    get:
      operationId: get_pet
      security: [{key: []}]
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
  /remote: {get: {operationId: remote, parameters: [{$ref: "https://elsewhere.example/p.json"}]}}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
`

// The command's agent calls an API of a document from a file or the network, with a credential from the environment.
func TestRunWithOpenAPI(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.yaml" {
			_, _ = io.WriteString(w, petDocument)
			return
		}
		if r.Header.Get("X-Key") == "pet-secret-1" && r.URL.Path == "/pets/7" {
			calls.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"Rex","key":%q}`, r.Header.Get("X-Key"))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(file, []byte(petDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PET_KEY": "pet-secret-1"}
	for _, args := range [][]string{
		{"--openapi", file, "--openapi-server", s.URL, "--openapi-auth", "key=PET_KEY"},
		{"--openapi", s.URL + "/openapi.yaml", "--openapi-auth", "key=PET_KEY"},
	} {
		before := calls.Load()
		p, out, errs := testProcess(t, env, append(append([]string{"run", "--ephemeral", "--model", "demo", "--tools", "none"}, args...), "get_pet id=7")...)
		if code := p.run(t.Context()); code != 0 || calls.Load() != before+1 || !strings.Contains(out.String(), "Rex") {
			t.Errorf("%q: exit code %d, %d calls\n%s%s", args, code, calls.Load()-before, out, errs)
		}
		if strings.Contains(out.String()+errs.String(), "pet-secret-1") {
			t.Errorf("the credential is shown:\n%s%s", out, errs)
		}
		if !strings.Contains(errs.String(), "an operation of Pets is left out: remote refers to another document") {
			t.Errorf("the operation that is left out is not named:\n%s", errs)
		}
	}
	for _, c := range []struct{ args, why string }{
		{"--openapi " + file + " --openapi-auth key=NO_KEY", `the variable "NO_KEY" is not set`},
		{"--openapi " + file + " --openapi-server " + s.URL + " --openapi-auth kex=PET_KEY", `no OpenAPI document has the security scheme "kex"`},
		{"--openapi " + file + " --openapi-auth key=${PET_KEY}", "SCHEME=VARIABLE"},
		{"--openapi-server " + s.URL, "exactly one"},
		{"--openapi " + file + "x", "cannot be read"},
		{"--openapi " + file, "no server"},
	} {
		p, out, errs := testProcess(t, env, append(append([]string{"run", "--ephemeral", "--model", "demo"}, strings.Fields(c.args)...), "hi")...)
		if code := p.run(t.Context()); code == 0 || !strings.Contains(errs.String(), c.why) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, out, errs)
		}
	}
}

// A server's agents also have the tools of a document.
func TestServeWithOpenAPI(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(file, []byte(petDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _, _ := testProcess(t, nil)
	p.openRef = func(string) (braid.Model, error) {
		return demo.New(demo.Replies("one", []demo.Piece{demo.Say("One.")}))
	}
	var lines lockedBuffer
	a, err := p.openAgents(t.Context(), &conf.Config{Settings: conf.Settings{
		ModelSettings: conf.ModelSettings{Model: "demo"},
		AgentSettings: conf.AgentSettings{Tools: "none", OpenAPI: []string{file}, OpenAPIServer: "https://api.example"},
	}}, slog.New(slog.NewTextHandler(&lines, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.close() }()
	if len(a.apis) != 1 || len(a.apis[0].Tools()) != 1 || !strings.Contains(lines.String(), "tool=remote") {
		t.Errorf("%v, %s", a.apis, lines.String())
	}
}

func TestDoctorReadsOpenAPI(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pets.yaml")
	if err := os.WriteFile(file, []byte(petDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _, _ := testProcess(t, nil)
	for server, want := range map[string]string{"https://api.example": "the OpenAPI document Pets has 1 tools", "": "no server"} {
		d := &diagnosis{check: "openapi", p: p, cfg: &conf.Config{Settings: conf.Settings{
			AgentSettings: conf.AgentSettings{OpenAPI: []string{file}, OpenAPIServer: server},
		}}}
		checkOpenAPI(t.Context(), d)
		if all := fmt.Sprint(d.findings); !strings.Contains(all, want) {
			t.Errorf("the doctor says %s, want %q", all, want)
		}
	}
}
