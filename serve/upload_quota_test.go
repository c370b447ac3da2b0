package serve_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
)

// A quota that is reached during a write refuses it with its code and a hint, and leaves no file and no bytes, on both databases:
// for an upload, one in place of a file, and attachments of a run, which does not begin.
func TestAQuotaReachedDuringAWrite(t *testing.T) {
	t.Parallel()
	eachDatabase(t, "quota_writes", quotaDuringAWrite)
}

func quotaDuringAWrite(t *testing.T, store serve.Store, _ func() string) {
	f, err := agents.New(t.Context(), agents.Options{Model: caller{}, Workspaces: true})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, serve.Options{Agents: f, Store: store, Tenants: &directory.Options{Keys: keys}, Service: service.Options{Workspaces: &workspace.Quota{}}})
	s.must("", "POST", "/v1/admin/tenants", `{"id":"acme"}`, "id")
	user := s.must("", "POST", "/v1/admin/tenants/acme/keys", `{"scopes":["read","write","admin:read","admin:write"]}`, "token")
	conv := "/v1/conversations/" + s.must(user, "POST", "/v1/conversations", "{}", "id")
	files := func() string {
		_, answer := s.ask(user, "GET", conv+"/files", "")
		return answer
	}
	used := func() int64 {
		_, answer := s.ask(user, "GET", "/v1/admin/tenants/acme", "")
		var of struct {
			Use struct {
				Bytes int64 `json:"stored_bytes"`
			} `json:"use"`
		}
		if err := json.Unmarshal([]byte(answer), &of); err != nil {
			t.Fatal(err)
		}
		return of.Use.Bytes
	}
	if status, answer := s.send(user, http.MethodPut, conv+"/files/content?path=kept.txt", "text/plain", []byte("kept")); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	s.must("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"stored_bytes":1000000}}`, "id")
	listed, bytes := files(), used()
	if !strings.Contains(listed, "kept.txt") || bytes < 4 {
		t.Fatalf("%d bytes: %s", bytes, listed)
	}
	large := strings.Repeat("refused ", 200_000)
	encoded := base64.StdEncoding.EncodeToString([]byte(large[:600_000]))
	for name, write := range map[string]func() (int, string){
		"an upload": func() (int, string) {
			return s.send(user, http.MethodPut, conv+"/files/content?path=large.txt", "text/plain", []byte(large))
		},
		"in place of a file": func() (int, string) {
			return s.send(user, http.MethodPut, conv+"/files/content?path=kept.txt", "text/plain", []byte(large))
		},
		"an attachment": func() (int, string) {
			return s.ask(user, "POST", conv+"/runs", `{"user_input":"go","attachments":[{"name":"a.txt","data":"`+encoded+`"},{"name":"b.txt","data":"`+encoded+`"}]}`)
		},
	} {
		status, answer := write()
		for _, want := range []string{"QUOTA_STORAGE", "as many bytes as they may, 1000000", "delete conversations that you do not need"} {
			if status != 429 || !strings.Contains(answer, want) {
				t.Errorf("%s: %d %.500s", name, status, answer)
			}
		}
		if now, n := files(), used(); now != listed || n != bytes {
			t.Errorf("%s leaves %d bytes instead of %d, and %s", name, n, bytes, now)
		}
	}
	if _, answer := s.ask(user, "GET", conv+"/runs", ""); !strings.Contains(answer, `"data":[]`) {
		t.Errorf("a refused run is there: %s", answer)
	}
}
