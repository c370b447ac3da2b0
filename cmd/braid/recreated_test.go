package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// vendor is a provider that records keys and models, and refuses.
type vendor struct {
	*httptest.Server

	mu    sync.Mutex
	asked []string
}

func startVendor(t *testing.T) *vendor {
	t.Helper()
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct {
			Model string `json:"model"`
		}
		_ = json.Unmarshal(body, &in)
		v.mu.Lock()
		v.asked = append(v.asked, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+" "+in.Model)
		v.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(v.Close)
	return v
}

// since returns the requests after the last call of since.
func (v *vendor) since() (asked []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	asked, v.asked = slices.Compact(v.asked), nil
	return asked
}

// A model that is deleted and created again under its id is another model: its provider gets the key and name that are
// stored now. The same holds for a tenant that was erased.
func TestRecreatedModelsAreNew(t *testing.T) {
	t.Parallel()
	v := startVendor(t)
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{"OPENAI_BASE_URL": v.URL + "/v1"}, "--model", "demo", "--tools", "none")
	model := func(tenant, id, key, name string) {
		t.Helper()
		s.must("", "POST", "/v1/admin/tenants/"+tenant+"/models", `{"id":"`+id+`","provider":"openai","name":"`+name+`","credential":{"secret":"`+key+`"}}`)
	}
	asks := func(token, id, want string) {
		t.Helper()
		_, answer := s.run(token, s.conversation(token), "hi", id)
		if got := v.since(); !slices.Equal(got, []string{want}) {
			t.Errorf("asked as %q, want %q: %s", got, want, answer)
		}
	}
	s.must("", "POST", "/v1/admin/tenants", `{"id":"t5"}`)
	first := s.key("t5", "ann", "read", "write", "admin:write")
	model("t5", "m", "sk-OLD-key-that-leaked-0001", "first-model")
	asks(first, "m", "sk-OLD-key-that-leaked-0001 first-model")
	s.must(first, "DELETE", "/v1/admin/tenants/t5/models/m", "")
	model("t5", "m", "sk-NEW-key-0002", "second-model")
	asks(first, "m", "sk-NEW-key-0002 second-model")
	s.must(first, "PATCH", "/v1/admin/tenants/t5/models/m", `{"name":"third-model"}`)
	asks(first, "m", "sk-NEW-key-0002 third-model")

	s.must("", "PATCH", "/v1/admin/tenants/t5", `{"status":"inactive"}`)
	s.must("", "DELETE", "/v1/admin/tenants/t5", "")
	s.must("", "POST", "/v1/admin/tenants", `{"id":"t5"}`)
	second := s.key("t5", "ann", "read", "write")
	if status, answer := s.run(second, s.conversation(second), "hi", "m"); status != 422 {
		t.Errorf("a model of an erased tenant: %d %s", status, answer)
	}
	model("t5", "m", "sk-CUSTOMER-TWO-key", "first-model")
	asks(second, "m", "sk-CUSTOMER-TWO-key first-model")
	if status, _ := s.ask(first, "GET", "/v1/conversations", ""); status != 401 {
		t.Errorf("a key of an erased tenant: %d", status)
	}
}

// Only the operator changes what the operator's credential pays for.
func TestOperatorsModelsAreTheOperators(t *testing.T) {
	t.Parallel()
	v := startVendor(t)
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{
		"OPENAI_BASE_URL": v.URL + "/v1", "OPENAI_API_KEY": "sk-operators-own", "GIVEN": "sk-operators-given",
	}, "--model", "demo", "--tools", "none")
	s.must("", "POST", "/v1/admin/tenants", `{"id":"a"}`)
	at := "/v1/admin/tenants/a/models"
	s.must("", "POST", at, `{"id":"given","provider":"openai","name":"cheap","prices":{"input":"1","output":"1"},"credential":{"env":"GIVEN"}}`)
	admin := s.key("a", "", "read", "write", "admin:read", "admin:write")
	s.must(admin, "POST", at, `{"id":"mine","provider":"openai","name":"cheap","credential":{"secret":"sk-of-the-tenant-itself"}}`)
	house := s.key("default", "", "read", "write", "admin:read", "admin:write")
	s.must("", "POST", "/v1/admin/tenants/default/models", `{"id":"given","provider":"openai","name":"cheap","prices":{"input":"1","output":"1"}}`)
	for _, c := range []struct {
		why, token, method, path, body string
		want                           int
	}{
		{"name", admin, "PATCH", at + "/given", `{"name":"dearest"}`, 403},
		{"prices", admin, "PATCH", at + "/given", `{"prices":{"input":"0","output":"0"}}`, 403},
		{"no prices", admin, "PATCH", at + "/given", `{"prices":null}`, 403},
		{"provider", admin, "PATCH", at + "/given", `{"provider":"anthropic"}`, 403},
		{"region", admin, "PATCH", at + "/given", `{"region":"us-east-1"}`, 403},
		{"aliases", admin, "PATCH", at + "/given", `{"aliases":["haiku"]}`, 403},
		{"status", admin, "PATCH", at + "/given", `{"status":"inactive"}`, 403},
		{"key", admin, "PATCH", at + "/given", `{"credential":{"secret":"sk-of-the-tenant-itself"}}`, 403},
		{"no key", admin, "PATCH", at + "/given", `{"credential":null}`, 403},
		{"all", admin, "PATCH", at + "/given", `{"provider":"anthropic","name":"x","credential":{"env":"GIVEN"}}`, 403},
		{"delete", admin, "DELETE", at + "/given", "", 403},
		{"new with a variable", admin, "POST", at, `{"id":"x","provider":"openai","name":"x","credential":{"env":"GIVEN"}}`, 403},
		{"own takes a variable", admin, "PATCH", at + "/mine", `{"credential":{"env":"GIVEN"}}`, 403},
		{"shared", admin, "POST", "/v1/admin/models", `{"id":"x","provider":"openai","name":"x"}`, 403},
		{"default tenant's", house, "PATCH", "/v1/admin/tenants/default/models/given", `{"prices":{"input":"0","output":"0"}}`, 403},
		{"default tenant's new", house, "POST", "/v1/admin/tenants/default/models", `{"id":"x","provider":"openai","name":"dearest","prices":{"input":"0"}}`, 403},
		{"own", admin, "PATCH", at + "/mine", `{"name":"dearer","prices":{"input":"0"}}`, 200},
		{"default tenant's with a key", house, "POST", "/v1/admin/tenants/default/models", `{"id":"y","provider":"openai","name":"x","credential":{"secret":"sk-of-the-tenant-itself"}}`, 201},
		{"its key goes", house, "PATCH", "/v1/admin/tenants/default/models/y", `{"credential":null}`, 403},
		{"operator", "", "PATCH", at + "/given", `{"aliases":["haiku"]}`, 200},
	} {
		if status, answer := s.ask(c.token, c.method, c.path, c.body); status != c.want {
			t.Errorf("%s: %d, want %d: %s", c.why, status, c.want, answer)
		}
	}
	s.run(admin, s.conversation(admin), "hi", "given")
	if got := v.since(); !slices.Equal(got, []string{"sk-operators-given cheap"}) {
		t.Errorf("asked as %q", got)
	}
}

// A policy says whose models it means: no tenant's own model replaces one that it allows.
func TestPoliciesBindModels(t *testing.T) {
	t.Parallel()
	v := startVendor(t)
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{
		"OPENAI_BASE_URL": v.URL + "/v1", "OPENAI_API_KEY": "sk-operators-own", "GIVEN": "sk-operators-given",
	}, "--model", "demo", "--tools", "none")
	s.must("", "POST", "/v1/admin/tenants", `{"id":"a"}`)
	s.must("", "POST", "/v1/admin/models", `{"id":"allowed","provider":"openai","name":"shared-allowed","aliases":["haiku","sonnet"]}`)
	s.must("", "PATCH", "/v1/admin/tenants/a", `{"default_model":"allowed"}`)
	s.must("", "POST", "/v1/admin/models", `{"id":"other","provider":"openai","name":"shared-other"}`)
	admin := s.key("a", "", "read", "write", "admin:read", "admin:write")
	at := "/v1/admin/tenants/a/models"
	own := func(id, aliases string) {
		t.Helper()
		s.must(admin, "POST", at, `{"id":"`+id+`","provider":"openai","name":"own-`+id+`","aliases":[`+aliases+`],"prices":{"input":"0"},"credential":{"secret":"sk-of-the-tenant-itself"}}`)
	}
	own("allowed", `"haiku"`)
	own("mine", "")
	s.must("", "POST", at, `{"id":"given","provider":"openai","name":"given","credential":{"env":"GIVEN"}}`)
	// Without "own:" an entry means an operator's model. There is none with that id.
	if status, answer := s.ask("", "PATCH", "/v1/admin/tenants/a", `{"policy":{"models":["mine"]}}`); status != 422 || !strings.Contains(answer, "own:mine") {
		t.Errorf("a policy for no model: %d %s", status, answer)
	}
	const shared, mine = "sk-operators-own shared-allowed", "sk-of-the-tenant-itself own-allowed"
	for _, c := range []struct {
		policy, name string
		want         string // "" if refused
		listed       []string
	}{
		{`["allowed"]`, "allowed", shared, []string{"allowed", "haiku", "sonnet"}},
		{`["allowed"]`, "haiku", shared, nil},
		{`["allowed"]`, "sonnet", shared, nil},
		{`["allowed"]`, "", shared, nil},
		{`["allowed"]`, "mine", "", nil},
		{`["allowed"]`, "other", "", nil},
		{`["allowed"]`, "given", "", nil},
		{`["given"]`, "given", "sk-operators-given given", []string{"given"}},
		{`["own:mine"]`, "mine", "sk-of-the-tenant-itself own-mine", []string{"mine"}},
		{`["own:allowed"]`, "allowed", mine, []string{"allowed", "haiku"}},
		{`["own:allowed"]`, "sonnet", "", nil},
		{`["own:*"]`, "haiku", mine, []string{"allowed", "haiku", "mine"}},
		{`["allowed","own:*"]`, "allowed", mine, []string{"allowed", "haiku", "mine", "sonnet"}},
		{`[]`, "allowed", mine, []string{"allowed", "given", "haiku", "mine", "other", "sonnet"}},
		{`[]`, "anthropic:claude-x", "", nil},
	} {
		s.must("", "PATCH", "/v1/admin/tenants/a", `{"policy":{"models":`+c.policy+`}}`)
		status, answer := s.run(admin, s.conversation(admin), "hi", c.name)
		switch got := v.since(); {
		case c.want == "" && (len(got) > 0 || status != 422):
			t.Errorf("%s %q: asked as %q, %d %s", c.policy, c.name, got, status, answer)
		case c.want != "" && !slices.Equal(got, []string{c.want}):
			t.Errorf("%s %q: asked as %q, want %q: %d %s", c.policy, c.name, got, c.want, status, answer)
		}
		if c.listed == nil {
			continue
		}
		if got := s.listed(admin); !slices.Equal(got, c.listed) {
			t.Errorf("%s: GET /v1/models lists %q, want %q", c.policy, got, c.listed)
		}
		for _, name := range s.listed(admin) {
			if status, answer := s.run(admin, s.conversation(admin), "hi", name); status == 422 {
				t.Errorf("%s: %q is listed: %d %s", c.policy, name, status, answer)
			}
		}
		v.since()
	}
	// The server's own names belong to the default tenant. Only the operator sees models without a key.
	people := s.key("default", "", "read", "write")
	if got := s.listed(people); !slices.Contains(got, "demo:tour") || !slices.Contains(got, "allowed") {
		t.Errorf("the default tenant: %q", got)
	}
	if _, answer := s.ask(people, "GET", "/v1/models", ""); strings.Contains(answer, "Gemini") || strings.Contains(answer, "GIVEN") || strings.Contains(answer, "_KEY") {
		t.Errorf("it tells of the operator's keys: %s", answer)
	}
}

// listed returns the names and aliases of GET /v1/models, sorted.
func (s *site) listed(token string) (names []string) {
	s.t.Helper()
	status, raw := s.ask(token, "GET", "/v1/models", "")
	var list struct {
		Data []struct {
			Name    string   `json:"name"`
			Aliases []string `json:"aliases"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(raw), &list); err != nil || status != 200 {
		s.t.Fatalf("%d %v: %s", status, err, raw)
	}
	for _, m := range list.Data {
		names = append(append(names, m.Name), m.Aliases...)
	}
	slices.Sort(names)
	return names
}

// A provider's errors show a tenant none of the operator's variables, for any model and any failure.
func TestErrorsOfModelsNameNoVariables(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 418} {
		far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(far.Close)
		s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{
			"OPENAI_BASE_URL": far.URL + "/v1", "OPENAI_API_KEY": "sk-operators-own", "GIVEN_KEY": "sk-operators-given", "GEMINI_API_KEY": "g",
			"GOOGLE_GEMINI_BASE_URL": far.URL, "ANTHROPIC_API_KEY": "a", "ANTHROPIC_BASE_URL": far.URL,
		}, "--model", "openai:gpt-x", "--tools", "none")
		s.must("", "POST", "/v1/admin/tenants", `{"id":"a"}`)
		for _, provider := range []string{"openai", "gemini", "anthropic"} {
			at := "/v1/admin/tenants/a/models"
			s.must("", "POST", at, `{"id":"given-`+provider+`","provider":"`+provider+`","name":"model-x","credential":{"env":"GIVEN_KEY"}}`)
		}
		tenants, house := s.key("a", "", "read", "write"), s.key("default", "", "read", "write")
		check := func(token, name string) {
			t.Helper()
			conv := s.conversation(token)
			code, answer := s.run(token, conv, "hi", name)
			_, log := s.ask(token, "GET", "/v1/conversations/"+conv+"/events", "")
			for _, word := range []string{"_KEY", "_URL", far.URL, "sk-operators"} {
				if strings.Contains(answer+log, word) {
					t.Errorf("%d, %q: %d names %s: %s", status, name, code, word, answer)
				}
			}
			if code < 400 {
				t.Errorf("%d, %q: %d %s", status, name, code, answer)
			}
		}
		for _, name := range []string{"given-openai", "given-gemini", "given-anthropic", ""} {
			check(tenants, name)
		}
		for _, name := range []string{"", "openai:x", "gemini:x", "anthropic:x", "bedrock:amazon.nova-lite-v1:0"} {
			check(house, name)
		}
	}
}
