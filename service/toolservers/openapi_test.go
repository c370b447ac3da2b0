package toolservers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/tool"
)

const petDocument = `{"openapi":"3.0.3","info":{"title":"Pets","version":"1"},"servers":[{"url":"https://evil.example/{v}","variables":{"v":{"default":"v1"}}}],
	"paths":{"/pets/{id}":{"get":{"operationId":"getPet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},
	{"name":"X-Api-Key","in":"header","schema":{"type":"string"}}],"responses":{"200":{"description":"ok"}}},
	"delete":{"operationId":"deletePet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"ok"}}}}}}`

func petServer(address string) *directory.MCPServer {
	return server("acme", "pets", address+"/base", func(s *directory.MCPServer) {
		s.Type, s.Document = directory.MCPOpenAPI, &directory.MCPDocument{SHA256: "x"}
		s.Headers = map[string]string{"X-Api-Key": "key ${token}", "X-Plain": "plain"}
	})
}

// All runs share the tools of a document, and each call has the headers of its own run.
func TestRunsOfOneDocument(t *testing.T) {
	t.Parallel()
	web := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, r.URL.EscapedPath(), " ", strings.TrimPrefix(r.Header.Get("X-Api-Key"), "key token-of-"), " ", r.Header.Get("X-Plain"))
	}))
	p := newPool(t, nil, web)
	m := petServer(web.URL)
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			who := fmt.Sprintf("user-%04d", i%4)
			r, err := m.Resolve(map[string]secret.Secret{"token": secret.New("token-of-" + who)})
			if err != nil {
				t.Error(err)
			}
			set, err := p.For(t.Context(), []directory.ResolvedMCPServer{r}, stored{document: petDocument}, nil, nil)
			if err != nil || len(set.Tools()) != 2 {
				t.Errorf("%v %v", err, set)
				return
			}
			if out, err := set.Tools()[1].Call(t.Context(), json.RawMessage(`{"id":"1","X-Api-Key":"mine"}`)); err == nil {
				t.Errorf("the model chooses the header: %+v", out)
			}
			for range 5 {
				out, err := set.Tools()[1].Call(t.Context(), json.RawMessage(`{"id":"../../a?b"}`))
				if text := event.TextOf(out.Content); err != nil || text != "/base/pets/..%2F..%2Fa%3Fb "+who+" plain" {
					t.Errorf("%s: %q %v", who, text, err)
				}
			}
		})
	}
	wait.Wait()
	if n := p.Open(); n != 4 {
		t.Errorf("%d connections are open", n)
	}
}

// Effects come from the methods, patterns choose operations, and a document that cannot be read is refused when it is written.
func TestOperationsOfADocument(t *testing.T) {
	t.Parallel()
	web := newSite(t, http.NotFoundHandler())
	p := newPool(t, nil, web)
	m := petServer(web.URL)
	set := setOf(t, p, stored{document: petDocument}, resolved(t, m, "x"))
	for name, want := range map[string]event.Effect{"pets___getPet": event.EffectPure, "pets___deletePet": event.EffectIdempotent} {
		if got := tool.TraitsOf(toolOf(t, set, name)).Effect; got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
	if out, err := toolOf(t, set, "pets___getPet").Call(t.Context(), json.RawMessage(`{"id":"1"}`)); err != nil || !out.IsError {
		t.Errorf("a 404: %+v %v", out, err)
	}
	few := petServer(web.URL)
	few.ID, few.Tools = "few", []string{"get*"}
	if got := namesOf(setOf(t, p, stored{document: petDocument}, resolved(t, few, "x"))); len(got) != 1 || got[0] != "few___getPet" {
		t.Errorf("the tools are %v", got)
	}
	for name, document := range map[string]string{
		"no JSON": "{", "no OpenAPI": `{"swagger":"2.0"}`, "no operations": `{"openapi":"3.0.0","info":{"title":"x","version":"1"},"paths":{}}`,
		"20 MB": `{"openapi":"3.0.0","x-long":"` + strings.Repeat("x", 20<<20) + `"}`, "an alias bomb": "openapi: 3.0.0\na: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n",
	} {
		err := p.Check(m, []byte(document))
		if !errors.Is(err, event.ErrInvalid) && !errors.Is(err, event.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.Check(m, []byte(petDocument)); err != nil {
		t.Errorf("a good one: %v", err)
	}
	// One that is stored and cannot be read any more takes only its own tools away.
	bad := petServer(web.URL)
	bad.ID = "bad"
	set = setOf(t, p, stored{document: "{"}, resolved(t, bad, "x"), resolved(t, m, "x"))
	if st := set.ToolServers()[0]; st.Status != "failed" || !strings.Contains(st.Reason, "OpenAPI document") || len(set.Tools()) != 2 {
		t.Errorf("%+v %v", st, namesOf(set))
	}
}
