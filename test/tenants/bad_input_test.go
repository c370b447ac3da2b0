package tenants

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// The test puts invalid values into every place of a request that the API's document lists. Each request is refused
// in the common form, is never a server error, and reveals nothing of other tenants.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		open func(t *testing.T) (store, *database.DB)
	}{{"sqlite", openSQLite}, {"postgres", openPostgres}} {
		t.Run(c.name, func(t *testing.T) {
			logs, db := c.open(t)
			b := badInput(t, open(t, 2, logs, db))
			b.paths()
			b.addresses()
			b.cursors()
			b.bodies()
			b.heads()
			b.restore()
			b.foreign()
			b.restore()
			// The server still works.
			run, err := b.as(b.keys[0]).Run(t.Context(), b.ids[0]["id"], "hello", client.RunOptions{})
			if err != nil || run.Status != "completed" {
				t.Errorf("a run afterwards: %+v, %v", run, err)
			}
			if b.asked < 5000/b.every() {
				t.Errorf("%d requests were sent", b.asked)
			}
			t.Logf("%d requests", b.asked)
		})
	}
}

// bad sends invalid requests.
type bad struct {
	*site

	t   *testing.T
	all []operation
	// ids are the ids of each tenant's objects, by their names in paths. keys have all rights in their tenant.
	ids   []map[string]string
	keys  []string
	http  *http.Client
	asked int
	// cases counts the cases, including those left out.
	cases int
}

// every is the number of cases per case that runs. With the race detector all of them take half a minute, and some of
// them show the same. The suite of peers runs all.
func (b *bad) every() int {
	if race.On && os.Getenv("BRAID_LOAD") != "full" {
		return 11
	}
	return 1
}

// try reports whether the next case runs.
func (b *bad) try() bool {
	b.cases++
	return b.cases%b.every() == 0
}

// some returns the cases that run.
func some[T any](b *bad, cases ...T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range cases {
			if b.try() && !yield(c) {
				return
			}
		}
	}
}

const operatorToken = "the-operators-own-token"

func badInput(t *testing.T, s *site) *bad {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	b := &bad{site: s, t: t, all: document(t), http: &http.Client{Transport: transport}}
	ctx := t.Context()
	admin := b.as(operatorToken).Admin()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	scopes := slices.DeleteFunc(service.Scopes(), func(s directory.Scope) bool { return s == service.ScopeOperator })
	shared := map[string]string{}
	for _, name := range []string{"shared-one", "shared-two"} { // two of each, so that lists have two pages
		model, err := admin.CreateModel(ctx, "", client.NewModel{ID: name, Provider: "demo", Name: "assistant"})
		must(err)
		key, _, err := admin.CreateKey(ctx, "", client.NewKey{Scopes: []string{"operator"}})
		must(err)
		shared["shared model"], shared["shared key"] = model.ID, key.ID
	}
	for n := range 2 {
		tenant := tenantID(n)
		_, token, err := s.people.CreateKey(ctx, operator, directory.Key{Tenant: tenant, Scopes: scopes}, "")
		must(err)
		b.keys = append(b.keys, token.Reveal())
		api := b.as(token.Reveal())
		ids := maps.Clone(shared)
		ids["tenant"], ids["version"], ids["token"] = tenant, "1", "question_none"
		for _, id := range []string{"another-", "webhook-"} { // before the runs, so that they have deliveries
			hook, _, err := admin.CreateWebhook(ctx, tenant, client.NewWebhook{
				ID: id + fmt.Sprint("of-", n), WebhookSpec: client.WebhookSpec{URL: deadAddress},
			})
			must(err)
			ids["webhook"] = hook.ID
		}
		for _, archived := range []bool{true, true, false, false} {
			conv, err := api.Create(ctx, client.NewConversation{Title: "talk"})
			must(err)
			for range 2 {
				run, err := api.Run(ctx, conv.ID, "hello", client.RunOptions{Executor: "web"})
				must(err)
				ids["run"] = run.RunID
			}
			ids["id"] = conv.ID
			_, err = api.Update(ctx, conv.ID, client.Changes{Archived: &archived})
			must(err)
		}
		ids["delivery"] = delivered(t, admin, tenant, ids["webhook"])
		suffix := fmt.Sprint("of-", n)
		agent, err := admin.CreateAgent(ctx, tenant, "agent-"+suffix, client.AgentSpec{Instructions: "One."})
		must(err)
		_, err = admin.UpdateAgent(ctx, tenant, agent.ID, 0, client.Patch{"instructions": "Two."})
		must(err)
		model, err := admin.CreateModel(ctx, tenant, client.NewModel{ID: "model-" + suffix, Provider: "demo", Name: "assistant"})
		must(err)
		var server client.MCPServer
		for _, id := range []string{"another-", "server-"} {
			server, err = admin.CreateMCPServer(ctx, tenant, client.NewMCPServer{
				ID: id + suffix, MCPServerSpec: client.MCPServerSpec{Type: "http", URL: "https://mcp.example/"},
			})
			must(err)
			stored, err := s.people.GetMCPServer(ctx, tenant, server.ID, 0)
			must(err)
			for _, user := range []string{"", "ann"} {
				k := directory.MCPGrantKey{Tenant: tenant, Server: server.ID, Life: stored.Life, User: user}
				must(s.people.SaveMCPGrant(ctx, k, []byte(`{}`), &directory.MCPGrantInfo{Status: "signed_in"}, 0))
				ids["grant"] = k.ID()
			}
		}
		_, err = admin.UpdateMCPServer(ctx, tenant, server.ID, 0, client.Patch{"name": "Two"})
		must(err)
		var skill client.Skill
		for i, name := range []string{"another-", "skill-", "skill-"} { // two skills, and two versions of one
			skill, err = admin.UploadSkill(ctx, tenant, skillZip(t, name+suffix, fmt.Sprint(i)), 0)
			must(err)
		}
		ids["skill"] = skill.ID
		key, _, err := admin.CreateKey(ctx, tenant, client.NewKey{Scopes: []string{"read"}})
		must(err)
		ids["agent"], ids["model"], ids["key"], ids["server"] = agent.ID, model.ID, key.ID, server.ID
		b.ids = append(b.ids, ids)
	}
	return b
}

// skillZip is the archive of a skill.
func skillZip(t *testing.T, name, body string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("SKILL.md")
	if err == nil {
		_, err = io.WriteString(w, "---\nname: "+name+"\ndescription: Does it.\n---\n"+body+"\n")
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// deadAddress is refused before anything is resolved.
const deadAddress = "https://127.0.0.1/"

// delivered waits until a webhook has several deliveries, and returns the id of one.
func delivered(t *testing.T, admin client.Admin, tenant, webhook string) (id string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		n := 0
		for d, err := range admin.Deliveries(t.Context(), tenant, webhook, "", 0) {
			if err != nil {
				t.Fatal(err)
			}
			id, n = d.ID, n+1
		}
		if n > 1 {
			return id
		}
	}
	t.Fatal("the webhook has no deliveries")
	return ""
}

// restore restores the tenant's settings, because some of the cases are valid requests.
func (b *bad) restore() {
	b.t.Helper()
	admin, tenant := b.as(operatorToken).Admin(), b.ids[0]["tenant"]
	_, tenantErr := admin.UpdateTenant(b.t.Context(), tenant, 0, client.Patch{
		"limits": nil, "policy": nil, "retention": nil, "status": client.Active, "default_agent": "helper", "default_model": "sonnet",
	})
	_, modelErr := admin.UpdateModel(b.t.Context(), tenant, "best", 0, client.Patch{"status": client.Active})
	for m, err := range admin.MCPServers(b.t.Context(), tenant, client.ListOptions{Status: client.Active}) {
		if err == nil {
			_, err = admin.UpdateMCPServer(b.t.Context(), tenant, m.ID, 0, client.Patch{"status": client.Inactive})
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	for w, err := range admin.Webhooks(b.t.Context(), tenant, client.ListOptions{}) {
		if err == nil && w.URL != deadAddress { // it was made by a valid case
			_, err = admin.UpdateWebhook(b.t.Context(), tenant, w.ID, 0, client.Patch{"url": deadAddress})
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	if err := errors.Join(tenantErr, modelErr); err != nil {
		b.t.Fatal(err)
	}
}

// as returns the client of a credential.
func (b *bad) as(token string) *client.Client {
	b.t.Helper()
	c, err := client.New(b.URL, secret.New(token), client.Options{HTTP: b.http})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// token returns a credential of the first tenant for the operation.
func (b *bad) token(o *operation) string {
	if strings.HasPrefix(o.path, "/v1/admin") || o.scope == "operator" {
		return operatorToken
	}
	return b.keys[0]
}

// at returns the operation's path with these ids, escaped.
func (o *operation) at(ids map[string]string) string {
	path := o.path
	for _, name := range o.params {
		id := ids[name]
		if other, ok := ids["shared "+name]; ok && !slices.Contains(o.params, "tenant") && strings.HasPrefix(o.path, "/v1/admin") {
			id = other
		}
		path = strings.Replace(path, "{"+name+"}", id, 1)
	}
	return path
}

// reply is a response.
type reply struct {
	status        int
	code, message string
	body          string
}

// ask sends a request and checks what holds for every response.
func (b *bad) ask(o *operation, token, path, body string, headers ...string) reply {
	b.t.Helper()
	b.asked++
	ctx, stop := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, o.method, b.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", o.method, path, err)
	}
	defer res.Body.Close()
	r := reply{status: res.StatusCode}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return r // the stream does not end
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.body = string(raw)
	if res.StatusCode < 400 {
		return r
	}
	var e struct {
		Error struct {
			Code, Message string
			RequestID     string `json:"request_id"`
		}
	}
	told := json.Unmarshal(raw, &e) == nil && e.Error.Code != "" && e.Error.Message != "" && e.Error.RequestID != "" && len(e.Error.Message) < 300
	for _, inside := range []string{"SQLSTATE", "sqlite", "pgconn", "goroutine", ".go:", "braid_service"} {
		told = told && !strings.Contains(strings.Replace(r.body, e.Error.RequestID, "", 1), inside)
	}
	if !told || res.StatusCode >= 500 {
		b.t.Errorf("%s %.200s %.200q: %d %.600s", o.method, path, body, res.StatusCode, raw)
	}
	r.code, r.message = e.Error.Code, e.Error.Message
	return r
}

// refused sends a request that must be refused with one of these statuses.
func (b *bad) refused(o *operation, what, path, body string, headers []string, want ...int) {
	b.t.Helper()
	if r := b.ask(o, b.token(o), path, body, headers...); !slices.Contains(want, r.status) {
		b.t.Errorf("%s, %.100s: %d %.300s; want %v", o, what, r.status, r.body, want)
	}
}

// good returns a valid body; "" if none is required.
func (o *operation) good() string {
	if o.body == nil {
		return ""
	}
	return o.with(nil, nil)
}

// paths puts invalid ids into each place of a path.
func (b *bad) paths() {
	b.t.Helper()
	for i := range b.all {
		o := &b.all[i]
		for _, name := range o.params {
			for id := range some(
				b, "%00", "%FF", "%2e%2e%2fx", "a%2Fb", "%F0%9F%92%A9", "x%20y", "*", "0", "-1", "99999999999999999999", strings.Repeat("a", 3000), "%27%20OR%201=1%20--", "Conv_x",
			) {
				ids := maps.Clone(b.ids[0])
				ids[name], ids["shared "+name] = id, id
				b.refused(o, name+" of "+id, o.at(ids), o.good(), nil, 404)
			}
		}
	}
}

// words are parameters that may be any text, unlike numbers, times and so on.
var words = []string{"conversation", "run", "executor", "model", "tool", "action", "object", "user", "agent", "tenant", "error_kind", "path", "folder"}

// takesText reports whether a parameter may be any text.
func (o *operation) takesText(parameter string) bool {
	return slices.Contains(words, parameter) || parameter == "after" && strings.HasSuffix(o.path, "/files")
}

// stores reports whether a parameter names what the request makes: any allowed value is accepted.
func (o *operation) stores(parameter string) bool { return o.method == "PUT" && parameter == "path" }

// addresses puts invalid values into each parameter.
func (b *bad) addresses() {
	b.t.Helper()
	for i := range b.all {
		o := &b.all[i]
		if len(o.query) == 0 {
			continue
		}
		at := o.at(b.ids[0]) + "?"
		for _, name := range o.query {
			for value := range some(b, "%00", "a%00b", "%FF", strings.Repeat("x", 5000), "%ED%A0%80") {
				b.refused(o, name+"="+value, at+name+"="+value, "", nil, 400)
			}
			if o.stores(name) {
				continue
			}
			for value := range some(b, "x", "-1", "1.5", "0x1", "1e3", "9223372036854775808", "'%20OR%201=1%20--", "[]", "%7B%7D", "id%20desc", "NaN", "2026-13-45") {
				if r := b.ask(o, b.token(o), at+name+"="+value, ""); r.status != 400 && !o.takesText(name) {
					b.t.Errorf("%s, %s=%s: %d %.300s", o, name, value, r.status, r.body)
				} else if r.status == 200 && !strings.Contains(r.body, `"data":[]`) {
					b.t.Errorf("%s, %s=%s finds %.300s", o, name, value, r.body)
				}
			}
			b.refused(o, name+" twice", at+name+"=1&"+name+"=1", "", nil, 400)
		}
		for other := range some(b, "colour=red", "tenant="+b.ids[1]["tenant"], "Limit=1", "limit[]=1", "%zz=1", "limit=1;sort=id", "order=id", strings.Repeat("k", 5000)+"=1") {
			if name, _, _ := strings.Cut(other, "="); !slices.Contains(o.query, name) {
				b.refused(o, other, at+other, "", nil, 400)
			}
		}
	}
}

// next returns the cursor after the first row of a list.
func (b *bad) next(o *operation, token, path string) string {
	b.t.Helper()
	var page struct {
		Next string `json:"next_cursor"`
	}
	r := b.ask(o, token, path, "")
	if err := json.Unmarshal([]byte(r.body), &page); err != nil || page.Next == "" {
		b.t.Errorf("%s: a list of one page: %d %s", path, r.status, r.body)
	}
	return page.Next
}

// listed returns the address of a page of one row, with this parameter.
func (o *operation) listed(ids map[string]string, name, value string) string {
	q := url.Values{"limit": {"1"}}
	if slices.Contains(o.query, "by") {
		q.Set("by", "run") // it is a list of several rows then
	}
	return o.at(ids) + "?" + q.Encode() + "&" + url.Values{name: {value}}.Encode()
}

// cursors sends each list's cursor to other lists, to another tenant's, with another filter, and changed.
func (b *bad) cursors() {
	b.t.Helper()
	given := map[*operation]string{}
	for i := range b.all {
		if o := &b.all[i]; slices.Contains(o.query, "cursor") {
			given[o] = b.next(o, b.token(o), o.listed(b.ids[0], "cursor", ""))
		}
	}
	if len(given) < 14 {
		b.t.Errorf("there are %d lists", len(given))
	}
	filters := map[string]string{
		"status": "active", "sort": "-created_at", "archived": "true", "conversation": "conv_x", "run": b.ids[0]["run"], "executor": "web",
		"model": "x", "tool": "look", "from": "2020-01-01", "to": "2100-01-01", "action": "key.create", "object": "x",
	}
	for o, own := range given {
		at := o.listed(b.ids[0], "cursor", own)
		if r := b.ask(o, b.token(o), at, ""); r.status != 200 {
			b.t.Errorf("%s: its own cursor: %d %s", o, r.status, r.body)
		}
		for other, cursor := range given {
			same := other == o || strings.HasSuffix(other.path, "/conversations") && strings.HasSuffix(o.path, "/conversations") // the one list, by two doors
			if !same && b.try() {
				b.refused(o, "the cursor of "+other.path, o.listed(b.ids[0], "cursor", cursor), "", nil, 400)
			}
		}
		for _, name := range o.query {
			if value, ok := filters[name]; ok {
				b.refused(o, "a cursor with another "+name, at+"&"+name+"="+value, "", nil, 400)
			}
		}
		b.refused(o, "a cursor of another sum", strings.Replace(at, "by=run", "by=day", 1), "", nil, map[bool]int{true: 400, false: 200}[strings.Contains(at, "by=")])
		flip := []byte(own)
		flip[len(flip)/2] ^= 1
		for _, forged := range []string{string(flip), own[1:], own[:len(own)-2], own + "AA", strings.ToUpper(own), "AAAAAAAAAAAAAAAA", "eyJjIjoxLCJpIjoiY29udl94In0"} {
			b.refused(o, "the cursor "+forged, o.listed(b.ids[0], "cursor", forged), "", nil, 400)
		}
		if len(o.params) > 0 {
			theirs := b.next(o, operatorToken, o.listed(b.ids[1], "cursor", ""))
			b.refused(o, "another tenant's cursor", o.listed(b.ids[0], "cursor", theirs), "", nil, 400)
		}
	}
}

// bodies puts values of the wrong type into each place of each body.
func (b *bad) bodies() {
	b.t.Helper()
	for i := range b.all {
		o := &b.all[i]
		if o.body == nil {
			continue
		}
		b.restore()
		at, refused := o.at(b.ids[0]), []int{400}
		if slices.Contains(o.params, "token") {
			refused = append(refused, 404) // nothing is asked
		}
		for body := range some(
			b, `[]`, `"x"`, `1`, `true`, `null`, `{`, `{} {}`, `{"":1}`, `{"nobody_has_this":1}`, "\xff", `{"a":"`+"\xff"+`"}`, "\x00", `{"a":1,"a":1}`,
			strings.Repeat(`{"a":`, 300)+"1"+strings.Repeat("}", 300), strings.Repeat("[", 100_000),
		) {
			b.refused(o, body, at, body, nil, refused...)
		}
		b.refused(o, "no JSON", at, o.good(), []string{"Content-Type", "text/plain"}, append(refused, 415)...)
		if b.every() == 1 || i%4 == 0 {
			b.refused(o, "a body that is too long", at, `{"x":"`+strings.Repeat("x", 9<<20)+`"}`, nil, append(refused, 413)...)
		}
		for _, p := range o.body.places() {
			for value := range some(b, p.of.wrong()...) {
				body := o.with(p.at, value)
				b.refused(o, body, at, body, nil, refused...)
			}
			switch p.of.Types {
			case "object":
				if (p.of.More == nil || p.of.More.none) && b.try() {
					body := o.with(append(slices.Clone(p.at), "nobody_has_this"), 1)
					b.refused(o, body, at, body, nil, refused...)
				}
			case "string":
				for half := range some(b, strings.Replace(o.with(p.at, "HALF"), "HALF", `\ud800`, 1)) {
					b.refused(o, half, at, half, nil, refused...)
				}
				for value := range some(b, "", "\x00", "a\x00b", strings.Repeat("x", 400<<10), "\u202e", "' OR 1=1 --") {
					b.ask(o, b.token(o), at, o.with(p.at, value))
				}
			case "integer", "number":
				for value := range some[any](b, -1, 0, json.Number("9223372036854775807"), json.Number("-9223372036854775808")) {
					b.ask(o, b.token(o), at, o.with(p.at, value))
				}
			}
			if b.try() {
				b.ask(o, b.token(o), at, o.with(p.at, nil))
			}
		}
	}
}

// heads puts invalid values into each header.
func (b *bad) heads() {
	b.t.Helper()
	values := map[string][]string{
		"Idempotency-Key": {strings.Repeat("k", 256), "\xff", "k\xc3"},
		"If-Match":        {"1", `"0"`, `"-1"`, `"x"`, `W/"1"`, `"1", "2"`, `""`, `"99999999999999999999"`, "\xff"},
		"Last-Event-ID":   {"x", "-1", "1:", ":1", "1:1", "1:1.", "1.5", "99999999999999999999", "1:99999999999999999999.1", "\xff", strings.Repeat("1", 5000)},
	}
	for i := range b.all {
		o := &b.all[i]
		for _, name := range o.headers {
			for value := range some(b, values[name]...) {
				b.refused(o, name+": "+value, o.at(b.ids[0]), o.good(), []string{name, value}, 400)
			}
		}
	}
}

// foreign puts another tenant's ids into each parameter and each text of a body. The response must equal that for an
// unknown id.
func (b *bad) foreign() {
	b.t.Helper()
	for i := range b.all {
		o := &b.all[i]
		if strings.HasPrefix(o.path, "/v1/admin/") && !strings.Contains(o.path, "{tenant}") {
			continue // of no tenant
		}
		ask := func(what, id, path, body string) reply {
			r := b.ask(o, b.keys[0], path, body)
			r.message = strings.ReplaceAll(r.message, id, "ID")
			if r.status < 300 {
				r.body = what // ids and times differ each time
			} else {
				r.body = ""
			}
			return r
		}
		for kind, id := range b.ids[1] {
			if kind == "version" || kind == "token" || strings.HasPrefix(kind, "shared ") {
				continue
			}
			none := strings.Map(func(c rune) rune {
				if c >= '0' && c < '7' || c >= 'b' && c < 'n' {
					return c + 1
				}
				return c
			}, id)
			if cut := strings.IndexAny(id, "_-"); cut > 0 {
				none = id[:cut] + none[cut:]
			}
			if none == id || none == b.ids[0][kind] {
				b.t.Fatalf("%s is %s", id, none)
			}
			for name := range some(b, o.query...) {
				if o.stores(name) {
					continue
				}
				at := o.at(b.ids[0]) + "?" + name + "="
				got, want := ask("", id, at+id, ""), ask("", none, at+none, "")
				if got != want {
					b.t.Errorf("%s, %s=%s: %+v, and for one that nobody has: %+v", o, name, kind, got, want)
				}
				if r := b.ask(o, b.keys[0], at+id, ""); r.status == 200 && !o.stream && !strings.Contains(r.body, `"data":[]`) {
					b.t.Errorf("%s, %s=%s finds %.300s", o, name, kind, r.body)
				}
			}
			if o.body == nil || o.method == "POST" && strings.HasSuffix(o.path, "/keys") {
				continue // a key names nothing
			}
			for _, p := range o.body.places() {
				if p.of.Types != "string" || p.at[0] == "id" || !b.try() {
					continue // what is made has a name of its own
				}
				// Making it twice would be a conflict with itself.
				got := ask("", id, o.at(b.ids[0]), fresh(o, o.with(p.at, id)))
				want := ask("", none, o.at(b.ids[0]), fresh(o, o.with(p.at, none)))
				if got != want {
					b.t.Errorf("%s, %s of %s: %+v, and for one that nobody has: %+v", o, kind, p, got, want)
				}
			}
		}
	}
}

var made int

// fresh gives a new object an unused id.
func fresh(o *operation, body string) string {
	if _, named := o.example["id"]; o.method != "POST" || !named {
		return body
	}
	made++
	return strings.Replace(strings.Replace(body, `"example"`, fmt.Sprintf(`"made-%d"`, made), 1), `"example-alias"`, fmt.Sprintf(`"alias-%d"`, made), 1)
}
