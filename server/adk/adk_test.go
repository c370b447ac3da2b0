package adk_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/braidrun/braid/wire/adk"
)

const sessions = "/apps/default/users/ann/sessions"

// session is what a client knows of one.
type session struct {
	ID     string         `json:"id"`
	App    string         `json:"appName"`
	User   string         `json:"userId"`
	State  map[string]any `json:"state"`
	Events []wire.Event   `json:"events"`
	Last   float64        `json:"lastUpdateTime"`
}

// session asks for a session.
func (s *site) session(key, method, path, body string) (got session) {
	s.t.Helper()
	code, answer := s.ask(key, method, path, body)
	if err := json.Unmarshal([]byte(answer), &got); code != 200 || err != nil {
		s.t.Fatalf("%s %s: %d %s %v", method, path, code, answer, err)
	}
	return got
}

// body is a request for a run.
func body(session, text string, more ...string) string {
	return `{"appName":"default","userId":"ann","sessionId":"` + session + `","newMessage":{"role":"user","parts":[{"text":"` + text + `"}]}` +
		strings.Join(more, "") + `}`
}

// stream parses a stream as the developer UI does: lines that begin with "data:". It returns the ids too.
func (s *site) stream(text string) (events []wire.Event, ids []string) {
	s.t.Helper()
	id := ""
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			e, err := wire.Decode([]byte(rest))
			if err != nil {
				s.t.Fatal(rest, err)
			}
			events, ids = append(events, e), append(ids, id)
		}
	}
	return events, ids
}

// outline tells events in short.
func outline(events []wire.Event) (list []string) {
	for i := range events {
		e := &events[i]
		text := e.Author + " " + string(wire.Describe(e)) + " " + e.Text()
		if e.Partial == wire.True {
			text += " partial"
		}
		list = append(list, strings.TrimSpace(text))
	}
	return list
}

// whole tells the events that are no pieces, a line each.
func whole(events []wire.Event) string {
	var lines strings.Builder
	for i := range events {
		if events[i].Partial != wire.True {
			lines.WriteString(outline(events[i : i+1])[0] + "\n")
		}
	}
	return lines.String()
}

// A session is created, used, listed, changed and deleted as ADK's clients do.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := open(t)
	made := s.session(ann, "POST", sessions, "null")
	if made.App != "default" || made.User != "ann" || made.ID == "" || made.Events == nil || made.State == nil || made.Last < 1e9 {
		t.Errorf("%+v", made)
	}
	named := s.session(ann, "POST", sessions, `{"session_id":"mine","state":{"a":{"my_key":1}}}`)
	if named.ID != "mine" || len(named.State) != 1 {
		t.Errorf("%+v", named)
	}
	if code, got := s.ask(ann, "POST", sessions, `{"sessionId":"mine"}`); code != 409 || !strings.Contains(got, `"detail":"Session already exists`) {
		t.Errorf("again: %d %s", code, got)
	}
	code, got := s.ask(ann, "POST", "/run", body("mine", "hello"))
	var events []wire.Event
	if err := json.Unmarshal([]byte(got), &events); code != 200 || err != nil || len(events) != 1 || events[0].Text() != "you said hello" {
		t.Fatalf("%d %s %v", code, got, err)
	}
	got2 := s.session(ann, "GET", sessions+"/mine", "")
	want := []string{"user update", "user text hello", "guide text you said hello"}
	if diff := cmp.Diff(want, outline(got2.Events)); diff != "" {
		t.Error(diff)
	}
	if e := got2.Events[2]; e.ID != events[0].ID || e.InvocationID != events[0].InvocationID {
		t.Errorf("the session has %s, the run %s", e.AppendJSON(nil), events[0].AppendJSON(nil))
	}
	if last := s.session(ann, "GET", sessions+"/mine?num_recent_events=1", ""); len(last.Events) != 1 || last.Events[0].ID != events[0].ID {
		t.Errorf("%+v", last.Events)
	}
	if none := s.session(ann, "GET", sessions+"/mine?num_recent_events=0", ""); len(none.Events) != 0 {
		t.Errorf("%+v", none.Events)
	}
	if none := s.session(ann, "GET", sessions+"/mine?after_timestamp=9999999999", ""); len(none.Events) != 0 {
		t.Errorf("%+v", none.Events)
	}
	patched := s.session(ann, "PATCH", sessions+"/mine", `{"stateDelta":{"b":null,"user:c":[1]}}`)
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"my_key": 1.0}, "b": nil, "user:c": []any{1.0}}, patched.State); diff != "" {
		t.Error(diff)
	}
	_, list := s.ask(ann, "GET", sessions, "")
	if !strings.Contains(list, `"id":"mine"`) || !strings.Contains(list, made.ID) || strings.Contains(list, "hello") {
		t.Error(list)
	}
	for range 2 {
		code, got = s.ask(ann, "DELETE", sessions+"/mine", "")
	}
	if code != 404 || !strings.Contains(got, `"detail":"Session not found`) {
		t.Errorf("%d %s", code, got)
	}
}

// A stream has the pieces of an answer, its call, the result and the changes of the state; a session has the same without pieces.
func TestStream(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	code, text := s.ask(ann, "POST", "/run_sse", body("s", "use clock keep", `,"streaming":true,"state_delta":{"x":1}`))
	events, _ := s.stream(text)
	var texts wire.Texts
	said := ""
	for i := range events {
		said += texts.Add(&events[i])
	}
	if code != 200 || !strings.Contains(said, "I look.it is ") {
		t.Fatalf("%d %s", code, text)
	}
	whole := s.session(ann, "GET", sessions+"/s", "")
	var last []string
	for _, line := range outline(events) {
		if !strings.HasSuffix(line, "partial") {
			last = append(last, line)
		}
	}
	if diff := cmp.Diff(outline(whole.Events)[2:], last); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"x": 1.0, "a": "a", "user:a": "user:a", "app:a": "app:a"}, whole.State); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(text, "temp:a") || strings.Contains(text, "run:a") || !strings.Contains(text, `"stateDelta":{"a":"a","app:a":"app:a","user:a":"user:a"}`) {
		t.Error(text)
	}
	code, text = s.ask(ann, "POST", "/run_sse", body("s", "hello"))
	if events, _ = s.stream(text); code != 200 || len(events) != 1 || events[0].Partial == wire.True {
		t.Errorf("without streaming: %s", text)
	}
}

// A question ends the stream, and the answer goes on with the run: a yes, a no and a value.
func TestQuestions(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	for tool, answers := range map[string]map[string]string{
		"pay":  {`{"confirmed":true}`: "it is true", `{"response":"{\"confirmed\": false}"}`: "it is "},
		"name": {`{"result":"Ann"}`: "it is Ann"},
	} {
		for answer, want := range answers {
			_, text := s.ask(ann, "POST", "/run_sse", body("s", "use clock "+tool))
			events, _ := s.stream(text)
			var asked *wire.Call
			for i := range events {
				if len(events[i].LongRunning) > 0 {
					asked = events[i].Calls()[0]
				}
			}
			if asked == nil || !strings.HasPrefix(asked.Name, "adk_request_") {
				t.Fatal(text)
			}
			reply := func() (int, string) {
				return s.ask(ann, "POST", "/run_sse", `{"appName":"default","userId":"ann","sessionId":"s","newMessage":{"role":"user","parts":[
					{"functionResponse":{"id":"`+asked.ID+`","name":"`+asked.Name+`","response":`+answer+`}}]}}`)
			}
			code, text := reply()
			events, _ = s.stream(text)
			if code != 200 || len(events) != 2 || !strings.HasPrefix(events[1].Text(), want) || len(events[0].Responses()) != 1 {
				t.Errorf("%s with %s: %d %s", tool, answer, code, text)
			}
			if code, again := reply(); code != 200 || !strings.Contains(again, "it is ") {
				t.Errorf("the same answer again: %d %s", code, again)
			}
		}
	}
	s.ask(ann, "POST", "/run_sse", body("s", "use name"))
	if code, text := s.ask(ann, "POST", "/run_sse", body("s", "never mind")); code != 200 || !strings.Contains(text, "you said never mind") {
		t.Errorf("a message in place of the answer: %d %s", code, text)
	}
}

// A run that fails says why, in an event that the session keeps.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	code, text := s.ask(ann, "POST", "/run_sse", body("s", "break", `,"streaming":true`))
	events, _ := s.stream(text)
	last := events[len(events)-1]
	if code != 200 || last.ErrorCode != "UNKNOWN" || last.ErrorMessage != "the provider gave up: try again" || !last.Final() {
		t.Errorf("%d %s", code, text)
	}
	whole := s.session(ann, "GET", sessions+"/s", "")
	if e := whole.Events[len(whole.Events)-1]; e.ErrorCode != "UNKNOWN" || e.ID != last.ID {
		t.Errorf("%s", e.AppendJSON(nil))
	}
}

// A run goes on when its reader leaves, and a reader that comes back gets the rest.
func TestReadersThatLeave(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/adk/run_sse", strings.NewReader(body("s", "use clock")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", ann)
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close() // it has read nothing
	run := res.Header.Get("X-Run-Id")
	again := func(id string) (int, string) {
		return s.ask(ann, "POST", "/run_sse", `{"userId":"ann","sessionId":"s","streaming":true,"invocationId":"`+run+`"}`, "Last-Event-ID", id)
	}
	_, text := again("0")
	all, ids := s.stream(text)
	if len(all) < 3 || all[len(all)-1].Text() != "it is noon" {
		t.Fatal(text)
	}
	for i, id := range ids {
		code, text := again(id)
		rest, _ := s.stream(text)
		want, got := whole(all[i+1:]), whole(rest)
		if code != 200 || !strings.HasSuffix(got, want) || strings.Count(got, "\n") > strings.Count(want, "\n")+1 {
			t.Errorf("after %s: %d\n%s\nis sent, not\n%s", id, code, got, want)
		}
	}
	for _, id := range []string{"x", "-1", "99999"} {
		if code, got := again(id); code != 400 {
			t.Errorf("after %s: %d %s", id, code, got)
		}
	}
}

// The events of another system begin a session, and its run goes on from them.
func TestImport(t *testing.T) {
	t.Parallel()
	s := open(t)
	got := s.session(ann, "POST", sessions, `{"sessionId":"old","state":{"b":2},"events":[
		{"invocationId":"e-1","author":"user","timestamp":1753189200123,"content":{"parts":[{"text":"I am Ann"}]},"actions":{"state_delta":{"a":1}}},
		{"invocation_id":"e-1","author":"guide","content":{"role":"model","parts":[{"text":"Hello Ann"}]}}]}`)
	if diff := cmp.Diff([]string{"user text I am Ann", "default text Hello Ann", "user update"}, outline(got.Events)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"a": 1.0, "b": 2.0}, got.State); diff != "" {
		t.Error(diff)
	}
	if code, text := s.ask(ann, "POST", "/run", body("old", "and now?")); code != 200 || !strings.Contains(text, "you said and now?") {
		t.Errorf("%d %s", code, text)
	}
}

// What a credential may not see is not there: other tenants, other users, other apps.
func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", `{"secret":"x"}`)
	id := s.session(ann, "POST", sessions, "").ID
	for name, c := range map[string]struct{ key, method, path, body string }{
		"another tenant":              {bob, "GET", sessions + "/s", ""},
		"another tenant, by id":       {bob, "GET", sessions + "/" + id, ""},
		"another tenant runs":         {bob, "POST", "/run", body("s", "x")},
		"another tenant deletes":      {bob, "DELETE", sessions + "/" + id, ""},
		"another user":                {"Bearer key acme/eve", "GET", sessions + "/s", ""},
		"another user, own path":      {"Bearer key acme/eve", "GET", "/apps/default/users/eve/sessions/" + id, ""},
		"another user's list":         {"Bearer key acme/eve", "GET", sessions, ""},
		"another app":                 {ann, "GET", "/apps/other/users/ann/sessions/s", ""},
		"a tenant's key, other user":  {tenant, "GET", "/apps/default/users/eve/sessions/" + id, ""},
		"another user's state":        {"Bearer key acme/eve", "PATCH", sessions + "/s", `{"stateDelta":{"a":1}}`},
		"the run of another session":  {ann, "POST", "/run_sse", `{"userId":"ann","sessionId":"s","invocationId":"run_x"}`},
		"a session that is not there": {ann, "POST", "/run_sse", body("nowhere", "x")},
	} {
		if code, got := s.ask(c.key, c.method, c.path, c.body); code != 404 || strings.Contains(got, "secret") {
			t.Errorf("%s: %d %s", name, code, got)
		}
	}
	if code, got := s.ask(tenant, "GET", sessions+"/s", ""); code != 200 {
		t.Errorf("a key of the tenant: %d %s", code, got)
	}
	if code, got := s.ask(tenant, "PATCH", sessions+"/s", `{"stateDelta":{"app:a":1}}`); code != 200 {
		t.Errorf("a key of the tenant: %d %s", code, got)
	}
}

// What is no request is refused before anything runs.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	message := func(parts string) string {
		return `{"userId":"ann","sessionId":"s","newMessage":{"parts":[` + parts + `]}}`
	}
	for name, c := range map[string]struct {
		key, method, path, body string
		code                    int
		says                    string
	}{
		"no credential":           {"Bearer no", "GET", "/list-apps", "", 401, "no valid token"},
		"one for reading":         {"Bearer key acme/reader", "POST", "/run", "{}", 403, "scope"},
		"no route":                {ann, "GET", "/nothing", "", 404, "no such route"},
		"live":                    {ann, "GET", "/run_live", "", 501, "use /run_sse"},
		"no JSON":                 {ann, "POST", "/run", `{`, 400, "no JSON object"},
		"both styles":             {ann, "POST", "/run", `{"userId":"ann","user_id":"ann"}`, 400, "both styles"},
		"a wrong type":            {ann, "POST", "/run", `{"userId":7}`, 400, "another kind"},
		"no message":              {ann, "POST", "/run", `{"userId":"ann","sessionId":"s"}`, 400, "newMessage"},
		"no parts":                {ann, "POST", "/run", message(""), 400, "newMessage"},
		"a call":                  {ann, "POST", "/run", message(`{"functionCall":{"name":"f"}}`), 400, "only agents"},
		"an answer and text":      {ann, "POST", "/run", message(`{"text":"x"},{"functionResponse":{"id":"q","name":"f"}}`), 400, "alone"},
		"an answer to no call":    {ann, "POST", "/run", message(`{"functionResponse":{"id":"q","name":"f","response":{}}}`), 409, "open question"},
		"an answer without id":    {ann, "POST", "/run", message(`{"functionResponse":{"name":"f","response":{}}}`), 400, "no id"},
		"audio":                   {ann, "POST", "/run", message(`{"fileData":{"mimeType":"audio/mp3","fileUri":"gs://x"}}`), 422, "not taken here"},
		"an address":              {ann, "POST", "/run", message(`{"inlineData":{"mimeType":"image/png","data":"?"}}`), 400, "base64"},
		"state of a run":          {ann, "PATCH", sessions + "/s", `{"stateDelta":{"temp:a":1}}`, 400, "one run"},
		"state of the app":        {ann, "PATCH", sessions + "/s", `{"stateDelta":{"app:a":1}}`, 403, "one user"},
		"Braid's own state":       {ann, "PATCH", sessions + "/s", `{"stateDelta":{"braid.a":1}}`, 400, "braid."},
		"no state":                {ann, "PATCH", sessions + "/s", `{}`, 400, "stateDelta"},
		"state that is no map":    {ann, "PATCH", sessions + "/s", `{"stateDelta":[1]}`, 400, "another kind"},
		"an id of a conversation": {ann, "POST", sessions + "/conv_1", "", 400, "cannot be used"},
		"a number of events":      {ann, "GET", sessions + "/s?num_recent_events=-1", "", 400, "num_recent_events"},
		"bad events":              {ann, "POST", sessions, `{"events":[{"actions":{"unheard":1}}]}`, 400, "unheard"},
	} {
		if code, got := s.ask(c.key, c.method, c.path, c.body); code != c.code || !strings.Contains(got, c.says) || !strings.Contains(got, `"detail"`) {
			t.Errorf("%s: %d %s", name, code, got)
		}
	}
	if n := s.calls.Load(); n != 0 {
		t.Errorf("the model was called %d times", n)
	}
	if code, got := s.ask(ann, "GET", "/list-apps", "", "Origin", "https://evil.example"); code != 403 {
		t.Errorf("another site: %d %s", code, got)
	}
}

// Apps, health and version need what adk-python's clients ask for.
func TestApps(t *testing.T) {
	t.Parallel()
	s := open(t)
	for path, want := range map[string]string{
		"/list-apps?relative_path=./": `["default"]`,
		"/list-apps?detailed=true":    `"rootAgentName":"default"`,
		"/apps/default/app-info":      `"name":"default"`,
		"/health":                     `{"status":"ok"}`,
		"/version":                    `"version":"1.2.3"`,
	} {
		if code, got := s.ask(ann, "GET", path, ""); code != 200 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", path, code, got)
		}
	}
}

// Two messages at once are not mixed: the second is refused while the first is answered.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/adk/run_sse", strings.NewReader(body("s", "wait")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", ann)
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() // the head has come, although the run has nothing to show yet
	if code, got := s.ask(ann, "POST", "/run", body("s", "hello")); code != 409 || !strings.Contains(got, "CONVERSATION_LOCKED") {
		t.Errorf("%d %s", code, got)
	}
}
