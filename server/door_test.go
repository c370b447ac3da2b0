package server_test

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
)

// operator makes tenants and keys for the tests.
var operator = directory.By{Operator: true}

// box encrypts as far as these tests look.
type box struct{}

func (box) Seal(plain, _ []byte) ([]byte, error)  { return slices.Clone(plain), nil }
func (box) Open(sealed, _ []byte) ([]byte, error) { return slices.Clone(sealed), nil }

// withTenants gives a server a directory with these tenants.
func withTenants(t *testing.T, tenants ...string) (*directory.Directory, func(*service.Options, *server.Options)) {
	t.Helper()
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	return tenantsIn(t, db, tenants...)
}

// tenantsIn is withTenants in a database of the test's own, which it closes.
func tenantsIn(t *testing.T, db *database.DB, tenants ...string) (*directory.Directory, func(*service.Options, *server.Options)) {
	t.Helper()
	d := directory.New(directory.Options{Database: db, Keys: box{}})
	t.Cleanup(func() {
		if err := errors.Join(d.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	for _, id := range tenants {
		if _, err := d.CreateTenant(t.Context(), operator, directory.Tenant{ID: id}, ""); err != nil {
			t.Fatal(err)
		}
	}
	sender, err := webhooks.NewSender(nil, "test")
	if err != nil {
		t.Fatal(err)
	}
	return d, func(so *service.Options, o *server.Options) {
		o.Directory = d
		so.Webhooks = webhooks.New(webhooks.Options{Database: db, Directory: d, Journal: so.Journal, Sender: sender})
		o.Webhooks = so.Webhooks
	}
}

// keyOf makes a key of a tenant's.
func keyOf(t *testing.T, d *directory.Directory, tenant string, scopes ...service.Scope) (token, id string) {
	t.Helper()
	k, made, err := d.CreateKey(t.Context(), operator, directory.Key{Tenant: tenant, Scopes: scopes}, "")
	if err != nil {
		t.Fatal(err)
	}
	return made.Reveal(), k.ID
}

// described is one operation as openapi.json has it.
type described struct {
	method, path string
	scope        service.Scope // "" is open
	body         string
	params       []string
	// query are the names of what the address may have.
	query []string
	admin bool
}

var parameterOf = regexp.MustCompile(`\{(\w+)\}`)

// describedOperations reads all of them: the table has what the document has, so that
// nothing is forgotten.
func describedOperations(tb testing.TB) []described {
	tb.Helper()
	raw, err := os.ReadFile("openapi.json")
	if err != nil {
		tb.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Security *[]struct {
				Token []service.Scope `json:"token"`
			} `json:"security"`
			Parameters []struct{ Name, In string } `json:"parameters"`
			Body       *struct {
				Required bool `json:"required"`
				Content  map[string]struct {
					Example json.RawMessage `json:"example"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		tb.Fatal(err)
	}
	var list []described
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range doc.Paths[path] {
			d := described{method: strings.ToUpper(method), path: path, admin: strings.HasPrefix(path, "/v1/admin/")}
			switch {
			case op.Security == nil:
				tb.Errorf("%s %s says nothing of who may ask", method, path)
			case len(*op.Security) == 1 && len((*op.Security)[0].Token) == 1:
				d.scope = (*op.Security)[0].Token[0]
			case len(*op.Security) > 0:
				tb.Errorf("%s %s asks for %v", method, path, *op.Security)
			}
			if op.Body != nil {
				form, isJSON := op.Body.Content["application/json"]
				if d.body = string(form.Example); !isJSON {
					d.body = "the bytes of a file"
				}
				if d.body == "" && op.Body.Required {
					tb.Errorf("%s %s has no example of its body", method, path)
				}
			}
			for _, m := range parameterOf.FindAllStringSubmatch(path, -1) {
				d.params = append(d.params, m[1])
			}
			for _, p := range op.Parameters {
				if p.In == "query" {
					d.query = append(d.query, p.Name)
				}
			}
			list = append(list, d)
		}
	}
	return list
}

// at is the path with these ids.
func (d *described) at(ids map[string]string) string {
	return parameterOf.ReplaceAllStringFunc(d.path, func(m string) string {
		name := m[1 : len(m)-1]
		if id, ok := ids["shared "+name]; ok && d.admin && !slices.Contains(d.params, "tenant") {
			return id
		}
		return ids[name]
	})
}

// address is [described.at] with the parameters that the operation needs.
func (d *described) address(ids map[string]string) string {
	if slices.Contains(d.query, "path") {
		return d.at(ids) + "?path=" + ownedFile
	}
	return d.at(ids)
}

// ownedFile is a file in the workspace of the conversation of [site.belongings].
const ownedFile = "notes.txt"

// reply is all of an answer that could tell something.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

// replyOf asks and reads the answer, or its beginning where it is a stream, without what
// is different each time.
func (s *site) replyOf(d *described, path, token string) reply {
	s.t.Helper()
	var headers []string
	if token == "" {
		headers = []string{"Authorization", ""}
	} else {
		headers = []string{"Authorization", "Bearer " + token}
	}
	res := s.ask(d.method, path, d.body, headers...)
	defer res.Body.Close()
	var body []byte
	if res.Header.Get("Content-Type") != "text/event-stream" {
		var err error
		if body, err = io.ReadAll(res.Body); err != nil {
			s.t.Fatal(err)
		}
	}
	id := res.Header.Get("X-Request-Id")
	for _, name := range []string{"X-Request-Id", "Date"} {
		res.Header.Del(name)
	}
	return reply{res.StatusCode, res.Header, string(bytes.ReplaceAll(body, []byte(id), []byte("req_")))}
}

// belongings are ids of what a tenant has, by the names that they have in paths.
func (s *site) belongings(tenant, token string) map[string]string {
	s.t.Helper()
	auth := []string{"Authorization", "Bearer " + token}
	id := strings.ToLower(rand.Text()) // each time they are others
	conv := s.json(201, "POST", "/v1/conversations", "", auth...)["id"].(string)
	hook := s.json(201, "POST", "/v1/admin/tenants/"+tenant+"/webhooks", `{"id":"webhook-`+id+`","url":"https://127.0.0.1/"}`, auth...)["id"].(string)
	run := s.json(202, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"use ask","tokens":{"crm_token":"x"}}`, append(auth, "Prefer", "respond-async")...)["id"].(string)
	s.ask("PUT", content(conv, ownedFile), "what it says", auth...)
	ids := map[string]string{"id": conv, "run": run, "tenant": tenant, "version": "1", "webhook": hook, "grant": "mcpg_none"}
	for at, of := range map[string]string{"/v1/admin/tenants/" + tenant: "", "/v1/admin": "shared "} {
		if of == "" {
			ids["agent"] = s.json(201, "POST", at+"/agents", `{"id":"agent-`+id+`"}`, auth...)["id"].(string)
			ids["skill"] = "skill-" + id
			s.ask("POST", at+"/skills", skillZip(s.t, ids["skill"]), append(auth, "Content-Type", "application/zip")...)
			ids["server"] = s.json(201, "POST", at+"/mcp-servers", `{"id":"server-`+id+`","type":"http","url":"https://mcp.example/"}`, auth...)["id"].(string)
		} else if tenant == "beta" { // who is no operator has nothing there
			continue
		}
		if s.people != nil && of == "" {
			ids["grant"] = s.granted(tenant, ids["server"])
		}
		ids[of+"model"] = s.json(201, "POST", at+"/models", `{"id":"model-`+id+`","provider":"demo","name":"x"}`, auth...)["id"].(string)
		ids[of+"key"] = s.json(201, "POST", at+"/keys", `{"scopes":["read"]}`, auth...)["id"].(string)
	}
	s.until("the run asks something", func() bool {
		open := s.json(200, "GET", "/v1/conversations/"+conv+"/questions", "", auth...)["data"].([]any)
		if len(open) == 1 {
			ids["token"] = open[0].(map[string]any)["question_id"].(string)
		}
		return len(open) == 1
	})
	s.until("the webhook has a delivery", func() bool {
		sent := s.json(200, "GET", "/v1/admin/tenants/"+tenant+"/webhooks/"+hook+"/deliveries", "", auth...)["data"].([]any)
		if len(sent) > 0 {
			ids["delivery"] = sent[0].(map[string]any)["id"].(string)
		}
		return len(sent) > 0
	})
	return ids
}

// granted stores a grant of no user for an MCP server.
func (s *site) granted(tenant, server string) (id string) {
	s.t.Helper()
	m, err := s.people.GetMCPServer(s.t.Context(), tenant, server, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	k := directory.MCPGrantKey{Tenant: tenant, Server: server, Life: m.Life}
	if err := s.people.SaveMCPGrant(s.t.Context(), k, []byte(`{}`), &directory.MCPGrantInfo{Status: "signed_in"}, 0); err != nil {
		s.t.Fatal(err)
	}
	return k.ID()
}

// unknown are ids that nobody has, in the form of those that are.
func unknown(ids map[string]string) map[string]string {
	other := map[string]string{}
	for name, id := range ids {
		b := []byte(id)
		for i, c := range b {
			if i < len("conv_") && strings.Contains(id, "_") {
				continue
			}
			switch {
			case c >= 'a' && c < 'z', c >= 'A' && c < 'Z', c >= '2' && c < '7':
				b[i] = c + 1
			}
		}
		other[name] = string(b)
	}
	return other
}

// without is all scopes that do not contain this one.
func without(scope service.Scope) (rest []service.Scope) {
	for _, s := range service.Scopes() {
		if p := (service.Principal{Scopes: []service.Scope{s}}); !p.May(scope) {
			rest = append(rest, s)
		}
	}
	return rest
}

// Every route, and everybody who may come to it.
func TestEveryRouteIsBehindTheDoor(t *testing.T) {
	t.Parallel()
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	dir, with := tenantsIn(t, db, "alpha", "beta", "default")
	s := open(t, func(so *service.Options, o *server.Options) {
		with(so, o)
		so.Directory = dir
		o.Attempts.Most = -1
	})
	s.people = dir
	all := service.Scopes()
	tenant := slices.DeleteFunc(service.Scopes(), func(s service.Scope) bool { return s == service.ScopeOperator })
	short, expired, err := dir.CreateKey(t.Context(), operator, directory.Key{Tenant: "alpha", Scopes: all, Expires: time.Now().Add(time.Hour)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), "test", "alpha", func(tx *database.Tx) error { // its hour is over
		done, err := tx.Exec(`UPDATE api_key SET expires = ? WHERE id = ?`, database.Micros(time.Now().Add(-time.Second)), short.ID)
		if err == nil && done != 1 {
			err = errors.New("the key is not there")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	revoked, id := keyOf(t, dir, "alpha", all...)
	if _, err := dir.RevokeKey(t.Context(), operator, "alpha", id); err != nil {
		t.Fatal(err)
	}
	owner, _ := keyOf(t, dir, "alpha", all...)
	other, _ := keyOf(t, dir, "beta", tenant...)
	theirs, own := s.belongings("alpha", owner), s.belongings("beta", other)
	nobodys := unknown(theirs)
	for _, d := range describedOperations(t) {
		t.Run(d.method+" "+d.path, func(t *testing.T) {
			path := d.address(theirs)
			if d.scope == "" {
				for _, token := range []string{"", "garbage", expired.Reveal(), revoked, other, owner} {
					if r := s.replyOf(&d, path, token); r.Status != 200 {
						t.Errorf("%q: %d %s", token, r.Status, r.Body)
					}
				}
				return
			}
			none := s.replyOf(&d, path, "")
			if none.Status != 401 || none.Header.Get("Www-Authenticate") != `Bearer realm="braid"` || !strings.Contains(none.Body, "UNAUTHENTICATED") {
				t.Errorf("without a credential: %+v", none)
			}
			garbage := s.replyOf(&d, path, "garbage")
			if garbage.Status != 401 || garbage.Header.Get("Www-Authenticate") != `Bearer realm="braid", error="invalid_token"` {
				t.Errorf("with garbage: %+v", garbage)
			}
			for name, token := range map[string]string{"an expired": expired.Reveal(), "a revoked": revoked} {
				if diff := cmp.Diff(garbage, s.replyOf(&d, path, token)); diff != "" {
					t.Errorf("%s key can be told from garbage:\n%s", name, diff)
				}
			}
			lacking, _ := keyOf(t, dir, "alpha", without(d.scope)...)
			r := s.replyOf(&d, path, lacking)
			if r.Status != 403 || r.Header.Get("Www-Authenticate") != `Bearer realm="braid", error="insufficient_scope", scope="`+string(d.scope)+`"` {
				t.Errorf("without the scope: %+v", r)
			}
			s.foreign(t, &d, other, theirs, own, nobodys)
			// Last, since it may take away what the others ask for.
			rights := []service.Scope{d.scope}
			if strings.Contains(d.body, `"scopes"`) {
				rights = append(rights, service.ScopeRead) // a key gives what it has
			}
			right, _ := keyOf(t, dir, "alpha", rights...)
			fresh := theirs
			if d.method == http.MethodDelete {
				fresh = s.belongings("alpha", owner)
				s.json(202, "POST", "/v1/conversations/"+fresh["id"]+"/runs/"+fresh["run"]+"/cancel", "", "Authorization", "Bearer "+owner)
				s.settled(fresh, owner)
			} else if d.path == "/v1/admin/runs/{run}/cancel" { // the others still ask for the run that is open
				fresh = s.belongings("alpha", owner)
			}
			if r := s.replyOf(&d, d.address(fresh), right); r.Status == 401 || r.Status == 403 || r.Status == 404 || r.Status >= 500 {
				t.Errorf("with the right credential: %+v", r)
			}
		})
	}
}

// skillZip is the archive of a skill.
func skillZip(tb testing.TB, name string) string {
	tb.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("SKILL.md")
	if err == nil {
		_, err = io.WriteString(w, "---\nname: "+name+"\ndescription: Does it.\n---\nDo it.\n")
	}
	if err := errors.Join(err, z.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// settled waits until nothing is open in a conversation.
func (s *site) settled(ids map[string]string, token string) {
	s.t.Helper()
	s.until("the conversation is idle", func() bool {
		return s.json(200, "GET", "/v1/conversations/"+ids["id"], "", "Authorization", "Bearer "+token)["status"] == "idle"
	})
}

// foreign asks with ids of another tenant in every position: the answer must be the one
// that an id gets which nobody has.
func (s *site) foreign(t *testing.T, d *described, token string, theirs, own, nobodys map[string]string) {
	t.Helper()
	if len(d.params) == 0 {
		if d.method == http.MethodGet {
			r := s.replyOf(d, d.path, token)
			for name, id := range theirs {
				offered := d.path == "/v1/models" && id == theirs["shared model"] // all tenants may use it
				if name != "version" && !offered && strings.Contains(r.Body, id) {
					t.Errorf("another tenant sees %s in %s", id, r.Body)
				}
			}
		}
		return
	}
	ids := slices.DeleteFunc(slices.Clone(d.params), func(name string) bool { return name == "version" }) // which is a number
	for mask := 1; mask < 1<<len(ids); mask++ {
		foreign, none := maps.Clone(own), maps.Clone(own)
		for i, name := range ids {
			if mask&(1<<i) != 0 {
				foreign[name], none[name] = theirs[name], nobodys[name]
			}
		}
		got, want := s.replyOf(d, d.address(foreign), token), s.replyOf(d, d.address(none), token)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("another tenant's id (%b) can be told from one that nobody has:\n%s", mask, diff)
		}
		if want.Status != 404 && (want.Status != 403 || d.scope != service.ScopeOperator) {
			t.Errorf("an unknown id (%b) is answered with %d %s", mask, want.Status, want.Body)
		}
	}
}

// Streams end with the credential that opened them, and say so.
func TestARevokedKeyCutsStreams(t *testing.T) {
	t.Parallel()
	dir, with := withTenants(t, "alpha")
	s := open(t, with)
	t.Cleanup(func() { close(s.gate) }) // for the runs, which go on
	owner, _ := keyOf(t, dir, "alpha", service.Scopes()...)
	for name, end := range map[string]func(id string) error{
		"revoked": func(id string) error {
			_, err := dir.RevokeKey(t.Context(), operator, "alpha", id)
			return err
		},
		"its tenant inactive": func(string) error { return s.activate(dir, "alpha", directory.Inactive) },
	} {
		t.Run(name, func(t *testing.T) {
			token, id := keyOf(t, dir, "alpha", service.ScopeRead, service.ScopeWrite)
			with := []string{"Authorization", "Bearer " + token}
			conv := s.json(201, "POST", "/v1/conversations", "", with...)["id"].(string)
			here := "/v1/conversations/" + conv
			run := s.ask("POST", here+"/runs", `{"user_input":"use wait"}`, with...)
			whole := s.ask("GET", here+"/stream", "", with...)
			later := s.ask("GET", here+"/runs/"+run.Header.Get("X-Run-Id")+"/stream", "", with...)
			ended := make(chan *http.Response, 1)
			go func() { // it has no bytes before its end
				ended <- s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"again","policy":"queue"}`, append(with, "Accept", "application/json")...)
			}()
			for _, res := range []*http.Response{run, whole, later} {
				frames(t, res.Body, func(f frame) bool { return f.name == "tool_use" })
			}
			s.until("that, too, is under way", func() bool {
				open, _ := s.json(200, "GET", here, "", with...)["open_runs"].([]any)
				return len(open) == 2
			})
			if err := end(id); err != nil {
				t.Fatal(err)
			}
			for what, res := range map[string]*http.Response{"the run's": run, "the conversation's": whole, "the one that came later": later} {
				list := frames(t, res.Body, nil)
				if len(list) == 0 || list[len(list)-1].name != "error" || list[len(list)-1].data["code"] != "UNAUTHENTICATED" {
					t.Errorf("%s ends with %v", what, list)
				}
			}
			if res := <-ended; res.StatusCode != 401 {
				t.Errorf("who waits for the result is answered with %d", res.StatusCode)
			}
			if res := s.ask("GET", here, "", with...); res.StatusCode != 401 && res.StatusCode != 403 {
				t.Errorf("afterwards: %d", res.StatusCode)
			}
			if err := s.activate(dir, "alpha", directory.Active); err != nil {
				t.Fatal(err)
			}
			// The runs go on, and who has another key reads them.
			if open := s.json(200, "GET", here, "", "Authorization", "Bearer "+owner)["open_runs"].([]any); len(open) != 2 {
				t.Errorf("of the runs there are %v", open)
			}
		})
	}
}

// activate sets a tenant's status.
func (s *site) activate(d *directory.Directory, tenant string, status directory.Status) error {
	s.t.Helper()
	_, err := d.UpdateTenant(s.t.Context(), operator, tenant, 0, func(t *directory.Tenant) error { t.Status = status; return nil })
	return err
}

// Below a base path is everything, and beside it nothing.
func TestBasePath(t *testing.T) {
	t.Parallel()
	s := open(t, func(_ *service.Options, o *server.Options) { o.Base = "/some/braid/" })
	for _, path := range []string{"/healthz", "/v1/conversations", "/", "/some", "/some/braid", "/some/braidx/healthz", "/some/braid%2Fhealthz"} {
		s.json(404, "GET", path, "")
	}
	res := s.ask("POST", "/some/braid/v1/conversations", "")
	if at := res.Header.Get("Location"); res.StatusCode != 201 || !strings.HasPrefix(at, "/some/braid/v1/conversations/conv_") {
		t.Fatalf("%d, %q", res.StatusCode, at)
	}
	res = s.ask("POST", res.Header.Get("Location")+"/runs", `{"user_input":"hi"}`, "Prefer", "respond-async")
	var run struct{ Stream string }
	if err := json.NewDecoder(res.Body).Decode(&run); err != nil {
		t.Fatal(err)
	}
	if list := frames(t, s.ask("GET", run.Stream, "").Body, nil); len(list) == 0 || list[len(list)-1].name != "result" {
		t.Errorf("below %s there is %v", run.Stream, list)
	}
	for _, base := range []string{"braid", "/a//b", "/a/../b", "/{x}", "/a b", "/%2f", "/a?b", "//"} {
		if _, err := server.New(server.Options{Service: s.service, Token: secret.New(token), Tenant: "default", Base: base}, nil); event.KindOf(err) != event.ErrInvalid {
			t.Errorf("%q: %v", base, err)
		}
	}
}
