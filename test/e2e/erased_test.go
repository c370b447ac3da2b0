package e2e

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// echoRules are a model that repeats what the user says, in a file and in its answer.
const echoRules = `rules:
  - when: {after: list_files}
    reply: "files ${result} end"
  - when: {after: write_file}
    reply: "I wrote it."
  - when: {user: "write (?P<what>.+)"}
    reply: [{call: write_file, args: {name: notes.txt, content: "${what}"}}]
  - when: {user: look}
    reply: [{call: list_files, args: {}}]
  - reply: "You said ${user}"
`

// echoVendor is a provider that repeats what the user says, and notes the keys that it is asked with.
type echoVendor struct {
	*httptest.Server

	mu   sync.Mutex
	keys []string
}

func startEchoVendor(t *testing.T) *echoVendor {
	t.Helper()
	v := &echoVendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct {
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		v.mu.Lock()
		v.keys = append(v.keys, cmp.Or(r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		v.mu.Unlock()
		said, _ := json.Marshal("You said " + string(in.Messages[len(in.Messages)-1].Content))
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []struct{ kind, data string }{
			{"message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}`},
			{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
			{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + string(said) + `}}`},
			{"content_block_stop", `{"type":"content_block_stop","index":0}`},
			{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`},
			{"message_stop", `{"type":"message_stop"}`},
		} {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.kind, e.data)
		}
	}))
	t.Cleanup(v.Close)
	return v
}

// asked returns the keys that the vendor was asked with since the last call.
func (v *echoVendor) asked() (keys []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	keys, v.keys = slices.Compact(v.keys), nil
	return keys
}

// erasable is a server whose tenant t5 belongs to one customer after the other.
type erasable struct {
	*site

	t      *testing.T
	dir    string
	vendor *echoVendor
}

func startErasable(t *testing.T, more ...string) *erasable {
	t.Helper()
	v := startEchoVendor(t)
	script := filepath.Join(t.TempDir(), "echo.yaml")
	if err := os.WriteFile(script, []byte(echoRules), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	env := environment(t, append(more, "ANTHROPIC_BASE_URL="+v.URL)...)
	s := startServerIn(t, env, dir, "--model", "demo:"+script, "--tools", "files,calculator", "--ask", "write_file", "--log", "json", "--agentcore", "--addr", "127.0.0.1:0")
	return &erasable{site: s, t: t, dir: dir, vendor: v}
}

// customer is what one of them was given, and is told by.
type customer struct {
	word, user, token, readKey, modelKey string
}

// session is the name of the conversation that every customer calls the same.
const session = "a-session-that-every-customer-names-so"

// move has a customer make one of everything in t5. The word of the customer is in all of it.
func (s *erasable) move(word string) customer {
	s.t.Helper()
	c := customer{word: word, user: "ann-" + word, modelKey: "sk-ant-key-of-" + word}
	s.json(201, "POST", "/v1/admin/tenants", `{"id":"t5","name":"`+word+`","system_prompt":"You work for `+word+`."}`)
	at := "/v1/admin/tenants/t5"
	key := func(scopes, user string) string {
		return s.json(201, "POST", at+"/keys", `{"scopes":[`+scopes+`],"user":"`+user+`","name":"`+word+`"}`)["token"].(string)
	}
	c.token, c.readKey = key(`"read","write","admin:read","admin:write"`, c.user), key(`"read"`, "reader-"+word)
	as := []string{"Authorization", "Bearer " + c.token}
	s.json(201, "POST", at+"/models", `{"id":"main","provider":"anthropic","name":"claude-x","credential":{"secret":"`+c.modelKey+`"}}`, as...)
	s.json(201, "POST", at+"/agents", `{"id":"helper","description":"`+word+`","instructions":"Mind `+word+`."}`, as...)
	s.json(200, "PATCH", at+"/agents/helper", `{"instructions":"Mind `+word+` more."}`, as...)
	run := func(conv, text, more string) map[string]any {
		s.t.Helper()
		res := s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"`+text+`","metadata":{"label":"`+word+`"}`+more+`}`,
			append(as, "Accept", "application/json", "Idempotency-Key", word+text)...)
		raw, err := io.ReadAll(res.Body)
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil || res.StatusCode >= 300 {
			s.t.Fatalf("%s: %d %s: %v", text, res.StatusCode, raw, err)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return v
	}
	conv := func(more string) string {
		s.t.Helper()
		return s.json(201, "POST", "/v1/conversations", `{"title":"About `+word+`","metadata":{"label":"`+word+`"}`+more+`}`, as...)["id"].(string)
	}
	// Its own model, its own agent, and a file behind a permission that holds always.
	first := conv("")
	run(first, "say "+word, `,"model":"main"`)
	if asked := s.vendor.asked(); !slices.Equal(asked, []string{c.modelKey}) {
		s.t.Errorf("%s: the provider was asked with %q", word, asked)
	}
	second := conv(`,"agent":"helper"`)
	waiting := run(second, "write "+word, "")
	q, _ := waiting["question"].(map[string]any)
	if waiting["status"] != "waiting" || q["name"] != "braid.permission" {
		s.t.Fatalf("%s is not asked: %v", word, waiting)
	}
	s.json(200, "POST", "/v1/conversations/"+second+"/questions/"+q["question_id"].(string), `{"answer":{"approved":true,"lasts":"always"}}`, as...)
	stream := s.ask("GET", "/v1/conversations/"+second+"/runs/"+waiting["id"].(string)+"/stream", "", as...)
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		s.t.Fatal(err)
	}
	s.json(201, "POST", "/v1/conversations/"+second+"/fork", `{}`, as...)
	// The session that every customer names the same. Whoever is new finds nothing in it.
	found := s.invoke(c, "look", "")
	if strings.Contains(found, "notes.txt") {
		s.t.Errorf("%s finds somebody's file: %s", word, found)
	}
	s.invoke(c, "my session is about "+word, "")
	// What is read is kept in memory, too.
	for _, path := range []string{"/v1/conversations", "/v1/conversations/" + second, "/v1/conversations/" + second + "/export", "/v1/models", at, at + "/agents/helper", at + "/audit"} {
		res := s.ask("GET", path, "", as...)
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
			s.t.Errorf("%s: %d %v", path, res.StatusCode, err)
		}
	}
	return c
}

// invoke asks AgentCore's door in the session of that name.
func (s *erasable) invoke(c customer, text, more string) string {
	s.t.Helper()
	res := s.ask("POST", "/invocations", `{"prompt":"`+text+`"`+more+`}`, "Authorization", "Bearer "+c.token, "Accept", "application/json",
		"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", session)
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		s.t.Fatalf("%d %s: %v", res.StatusCode, raw, err)
	}
	return string(raw)
}

// erase has the operator erase the tenant.
func (s *erasable) erase() {
	s.t.Helper()
	s.json(200, "PATCH", "/v1/admin/tenants/t5", `{"status":"inactive"}`)
	s.json(200, "DELETE", "/v1/admin/tenants/t5", "")
}

// secrets are the texts of a customer that nothing may hold.
func (c *customer) secrets() []string {
	list := []string{c.word, c.user, c.token, c.readKey, c.modelKey}
	for _, s := range slices.Clone(list) {
		list = append(list, base64.StdEncoding.EncodeToString([]byte(s)))
	}
	return list
}

// filesWith lists the files below the data folder that hold something of a customer, or have it in their name.
func (s *erasable) filesWith(c *customer) (list []string) {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, secret := range c.secrets() {
			if bytes.Contains(data, []byte(secret)) || strings.Contains(path, secret) {
				list = append(list, strings.TrimPrefix(path, s.dir)+": "+secret)
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// An erased tenant is gone, and one of its id belongs to another customer: it finds nothing of the first one, is
// asked again, its provider gets its own key, and no file of the data folder holds anything of the first.
func TestErasedAndMadeAgain(t *testing.T) {
	t.Parallel()
	s := startErasable(t)
	one := s.move("customer-0ne-7f3a")
	if len(s.filesWith(&one)) == 0 {
		t.Fatal("nothing of the first customer is in any file: the test tests nothing")
	}
	s.erase()
	if files := s.filesWith(&one); len(files) > 0 {
		t.Errorf("after the erasure the first customer is in\n%s", strings.Join(files, "\n"))
	}
	if res := s.ask("GET", "/v1/conversations", "", "Authorization", "Bearer "+one.token); res.StatusCode != 401 {
		t.Errorf("the first customer's key: %d", res.StatusCode)
	}
	two := s.move("customer-tw0-91cc")
	as := []string{"Authorization", "Bearer " + two.token}
	for _, path := range []string{
		"/v1/conversations", "/v1/models", "/v1/admin/tenants/t5", "/v1/admin/tenants/t5/agents", "/v1/admin/tenants/t5/agents/helper",
		"/v1/admin/tenants/t5/models", "/v1/admin/tenants/t5/keys", "/v1/admin/tenants/t5/audit", "/v1/admin/tenants/t5/usage",
	} {
		res := s.ask("GET", path, "", as...)
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range one.secrets() {
			if bytes.Contains(raw, []byte(secret)) {
				t.Errorf("%s tells the second customer of the first: %s", path, raw)
			}
		}
	}
	if files := s.filesWith(&one); len(files) > 0 {
		t.Errorf("after the second customer came the first one is in\n%s", strings.Join(files, "\n"))
	}
}
