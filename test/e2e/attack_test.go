package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/internal/race"
)

// The attacks on the built server: each one is made over HTTP by somebody outside, and each one ends with the
// same proof, that the process is the one that was started, that it still serves other tenants and
// that its log holds no panic.
//
// BRAID_ATTACK=full makes every combination (scripts/test-peers attack); make test makes some of them.

// target is a server under attack: a tenant that attacks, and one that must not notice.
type target struct {
	*site

	routes []route
	// attacker and victim are tokens that may do everything in their own tenant.
	attacker, victim string
	// theirs are the ids of what the victim has, by the names that they have in paths.
	theirs map[string]string
	// gone is the address of an endpoint that answers 410.
	gone string
}

// canary is in everything that the victim has.
const canary = "canary-9f27"

// route is an operation of the document that the server serves.
type route struct {
	method, path, scope, body string
	params                    []string
}

func (r *route) String() string { return r.method + " " + r.path }

// attackedFile is a file in the workspace of the conversation of belongings.
const attackedFile = "notes.txt"

// at fills the path's parameters.
func (r *route) at(ids map[string]string) string {
	path := r.path
	for _, name := range r.params {
		id := ids[name]
		if other, ok := ids["shared "+name]; ok && strings.HasPrefix(r.path, "/v1/admin/") && !slices.Contains(r.params, "tenant") {
			id = other
		}
		path = strings.Replace(path, "{"+name+"}", id, 1)
	}
	if strings.HasSuffix(path, "/files/content") {
		path += "?path=" + attackedFile
	}
	return path
}

var allScopes = []string{"read", "write", "admin:read", "admin:write"}

// attackedServer starts braid serve with two tenants, and lets one address show any number of wrong credentials.
func attackedServer(t *testing.T, args ...string) *target {
	t.Helper()
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(gone.Close)
	args = append([]string{
		"--log", "json", "--wrong-credentials", "0", "--workspaces", "--allow-host", strings.TrimPrefix(gone.URL, "http://"),
	}, args...)
	s := &target{site: startServer(t, filepath.Join(t.TempDir(), "data"), args...), gone: gone.URL}
	s.routes = s.served()
	s.attacker, s.victim = s.tenant("attacker"), s.tenant("victim")
	s.theirs = s.belongings("victim", s.victim)
	return s
}

// full reports whether every combination is to be tried.
func full() bool { return os.Getenv("BRAID_ATTACK") == "full" }

// served reads the routes from the document that the server itself serves, so that no route is forgotten.
func (s *target) served() (list []route) {
	s.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Security []struct {
				Token []string `json:"token"`
			} `json:"security"`
			Body struct {
				Content map[string]struct {
					Example json.RawMessage `json:"example"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.NewDecoder(s.ask("GET", "/openapi.json", "").Body).Decode(&doc); err != nil {
		s.t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			r := route{method: strings.ToUpper(method), path: path, body: string(op.Body.Content["application/json"].Example)}
			if len(op.Security) > 0 {
				r.scope = op.Security[0].Token[0]
			}
			for _, m := range parameter.FindAllStringSubmatch(path, -1) {
				r.params = append(r.params, m[1])
			}
			list = append(list, r)
		}
	}
	if len(list) < 50 {
		s.t.Fatalf("the served document has %d routes", len(list))
	}
	return list
}

// tenant makes a tenant and gives a token that may do everything in it.
func (s *target) tenant(id string) string {
	s.t.Helper()
	s.json(201, "POST", "/v1/admin/tenants", `{"id":"`+id+`","name":"`+canary+`"}`)
	return s.key(id, allScopes...)
}

// key makes a key of a tenant and gives its token.
func (s *target) key(tenant string, scopes ...string) string {
	s.t.Helper()
	list, err := json.Marshal(scopes)
	if err != nil {
		s.t.Fatal(err)
	}
	made := s.json(201, "POST", "/v1/admin/tenants/"+tenant+"/keys", `{"scopes":`+string(list)+`}`)
	token, _ := made["token"].(string)
	if token == "" {
		s.t.Fatalf("a key without a token: %v", made)
	}
	return token
}

// belongings makes one of everything in a tenant and gives the ids.
func (s *target) belongings(tenant, token string) map[string]string {
	s.t.Helper()
	as := []string{"Authorization", "Bearer " + token}
	ids := map[string]string{"tenant": tenant, "version": "1", "token": "question_none"}
	id := func(v map[string]any, name string) string { return v[name].(string) }
	at := "/v1/admin/tenants/" + tenant
	ids["webhook"] = id(s.json(201, "POST", at+"/webhooks", `{"id":"a-webhook","url":"`+s.gone+`"}`, as...), "id")
	ids["id"] = id(s.json(201, "POST", "/v1/conversations", `{"title":"`+canary+`"}`, as...), "id")
	run := s.json(200, "POST", "/v1/conversations/"+ids["id"]+"/runs", `{"user_input":"`+canary+`"}`, append(as, "Accept", "application/json")...)
	ids["run"] = id(run, "run_id")
	if res := s.ask("PUT", "/v1/conversations/"+ids["id"]+"/files/content?path="+attackedFile, canary, as...); res.StatusCode != 200 {
		s.t.Fatalf("a file cannot be stored: %s", res.Status)
	}
	ids["delivery"] = s.failed(at+"/webhooks/a-webhook", as)
	ids["agent"] = id(s.json(201, "POST", at+"/agents", `{"id":"an-agent","instructions":"`+canary+`"}`, as...), "id")
	ids["skill"] = "a-skill"
	if res := s.ask("POST", at+"/skills", skillZip(s.t, ids["skill"]), append(as, "Content-Type", "application/zip")...); res.StatusCode != 201 {
		s.t.Fatalf("a skill cannot be stored: %s", res.Status)
	}
	ids["server"] = id(s.json(201, "POST", at+"/mcp-servers", `{"id":"a-server","status":"inactive","type":"http","url":"https://mcp.example/"}`, as...), "id")
	ids["grant"] = "mcpg_none"
	ids["model"] = id(s.json(201, "POST", at+"/models", `{"id":"a-model","provider":"demo","name":"assistant"}`, as...), "id")
	ids["key"] = id(s.json(201, "POST", at+"/keys", `{"scopes":["read"]}`, as...), "id")
	ids["shared model"] = id(s.json(201, "POST", "/v1/admin/models", `{"id":"shared-model","provider":"demo","name":"assistant"}`), "id")
	ids["shared key"] = id(s.json(201, "POST", "/v1/admin/keys", `{"scopes":["operator"]}`), "id")
	return ids
}

// skillZip is the archive of a skill.
func skillZip(t *testing.T, name string) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("SKILL.md")
	if err == nil {
		_, err = io.WriteString(w, "---\nname: "+name+"\ndescription: "+canary+"\n---\n"+canary+"\n")
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// failed waits until the first delivery of a webhook has failed and the webhook is disabled, so that
// neither changes any more, and returns the delivery's id.
func (s *target) failed(hook string, as []string) string {
	s.t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		list, _ := s.json(200, "GET", hook+"/deliveries?status=failed", "", as...)["data"].([]any)
		if state := s.json(200, "GET", hook, "", as...)["status"]; len(list) == 1 && state == "inactive" {
			return list[0].(map[string]any)["id"].(string)
		}
	}
	s.t.Fatal("no delivery has failed")
	return ""
}

// received is what an attack was answered with.
type received struct {
	status     int
	code, body string
	retryAfter string
}

// patience is how long an answer may take: large inputs are written to disks that others use as well.
const patience = 4 * time.Minute

// attack sends a request, reads what the answer may say, and fails the test where no attack may be answered so.
func (s *target) attack(method, path, body string, headers ...string) received {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Timeout: patience, Transport: s.transport()}
	res, err := client.Do(req)
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines say what it waits for
		s.wait()
		s.t.Fatalf("%s %.200s is not answered within %v: %v\n%s", method, path, patience, err, last(s.log.String(), 100_000))
	}
	if err != nil {
		if !s.alive() {
			s.t.Fatalf("%s %.200s ended the server: %v\n%s", method, path, err, last(s.log.String(), 4000))
		}
		return received{body: err.Error()} // cut off, which a body of any size may be
	}
	defer res.Body.Close()
	a := received{status: res.StatusCode, retryAfter: res.Header.Get("Retry-After")}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") && res.StatusCode == 200 {
		return a // its end is its own affair
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, 32<<20))
	if err != nil {
		return a
	}
	a.body = string(raw)
	if a.status < 400 || method == http.MethodHead {
		return a
	}
	var e struct {
		Error struct {
			Code, Message string
			RequestID     string `json:"request_id"`
		} `json:"error"`
	}
	uniform := json.Unmarshal(raw, &e) == nil && e.Error.Code != "" && e.Error.Message != ""
	a.code = e.Error.Code
	if !uniform && strings.HasPrefix(path, "/v1/") && a.status != http.StatusRequestHeaderFieldsTooLarge { // which net/http answers itself
		s.t.Errorf("%s %.200s: an error of another form: %d %.400s", method, path, a.status, raw)
	}
	told := strings.Replace(a.body, e.Error.RequestID, "", 1)
	for _, inside := range []string{"SQLSTATE", "sqlite", "goroutine ", ".go:", "panic", "/proc/", "root:x", "BRAID_", "_API_KEY"} {
		if strings.Contains(told, inside) {
			s.t.Errorf("%s %.200s %.200q: the answer tells of the inside (%s): %.600s", method, path, body, inside, raw)
		}
	}
	if a.status >= 500 && a.status != 502 && a.status != 503 && a.status != 507 {
		s.t.Errorf("%s %.200s %.200q: %d %.600s", method, path, body, a.status, raw)
	}
	return a
}

func (s *target) transport() *http.Transport {
	if s.http == nil {
		transport := &http.Transport{MaxIdleConnsPerHost: 16}
		s.t.Cleanup(transport.CloseIdleConnections)
		s.http = &http.Client{Transport: transport}
	}
	return s.http.Transport.(*http.Transport)
}

func (s *target) alive() bool {
	select {
	case err := <-s.ended:
		s.ended <- err
		return false
	default:
		return true
	}
}

// unharmed proves that the server is the process that was started, that the victim's agent still answers, and
// that nobody's panic is in the log; then the server ends as it was asked to.
func (s *target) unharmed() {
	s.t.Helper()
	if !s.alive() {
		s.t.Fatalf("the server has ended\n%s", last(s.log.String(), 4000))
	}
	as := []string{"Authorization", "Bearer " + s.victim}
	conv := s.json(201, "POST", "/v1/conversations", "", as...)["id"].(string)
	run := s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"What is 6 times 7?"}`, append(as, "Accept", "application/json")...)
	if run["status"] != "completed" {
		s.t.Errorf("the victim's run: %v", run)
	}
	peak := s.peak()
	s.t.Logf("the server has taken %d MiB", peak>>20)
	if peak > 512<<20 && !race.On { // the race detector takes several times as much
		s.t.Errorf("the server has taken more than 512 MiB: %d", peak>>20)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if code := s.wait(); code != 0 {
		s.t.Errorf("the server ended with %d", code)
	}
	for _, word := range []string{"panic", "fatal error", "DATA RACE"} {
		if at := strings.Index(s.log.String(), word); at >= 0 {
			s.t.Errorf("the log has a %s: %.2000s", word, s.log.String()[at:])
		}
	}
}

// peak is the most memory that the server has had resident, in bytes; 0 where the system does not say.
func (s *site) peak() int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }
