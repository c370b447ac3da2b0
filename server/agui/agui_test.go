package agui_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/braidrun/braid/server/front"
)

// body is an input with one message.
func body(thread, run, text string) string {
	return `{"threadId": "` + thread + `", "runId": "` + run + `", "messages": [{"id": "u", "role": "user", "content": "` + text + `"}]}`
}

// What is no request of AG-UI, or not the caller's, is refused before anything runs.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.post(body("mine", "r1", "hello"), "Authorization", "Bearer key acme/ann")
	before := s.calls.Load()
	for name, c := range map[string]struct {
		body    string
		headers []string
		code    int
		says    string
	}{
		"no JSON":             {`{"threadId": "t"`, nil, 400, "no RunAgentInput"},
		"another form":        {`{"threadId": 7, "runId": "r", "messages": []}`, nil, 400, "no RunAgentInput"},
		"a name twice":        {`{"threadId": "t", "threadId": "u", "runId": "r", "messages": []}`, nil, 400, "no RunAgentInput"},
		"deep":                {strings.Repeat("[", 100_000), nil, 400, "no RunAgentInput"},
		"no thread":           {`{"runId": "r", "messages": []}`, nil, 400, "threadId or runId is missing"},
		"a long run":          {body("t", strings.Repeat("r", 201), "x"), nil, 400, "threadId or runId is missing"},
		"no message":          {`{"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "assistant", "content": "x"}]}`, nil, 400, "no message of the user"},
		"a message of none":   {`{"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": 7}]}`, nil, 400, "cannot be read"},
		"audio":               {`{"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": [{"type": "audio"}]}]}`, nil, 422, "not taken here"},
		"tools of the client": {`{"threadId": "t", "runId": "r", "messages": [], "tools": [{"name": "x"}]}`, nil, 422, "call no tools of the client"},
		"no such interrupt":   {`{"threadId": "t", "runId": "r", "messages": [], "resume": [{"interruptId": "x", "status": "resolved"}]}`, nil, 409, "belong to an open interrupt"},
		"no status":           {`{"threadId": "t", "runId": "r", "messages": [], "resume": [{"interruptId": "x"}]}`, nil, 400, "has no status"},
		"one interrupt twice": {`{"threadId":"t","runId":"r","resume":[{"interruptId":"x","status":"cancelled"},{"interruptId":"x","status":"cancelled"}]}`, nil, 400, "or one twice"},
		"too large":           {body("t", "r", strings.Repeat("x", front.DefaultBodyBytes)), nil, 413, "TOO_LARGE"},
		"no credential":       {body("t", "r", "x"), []string{"Authorization", "Bearer no"}, 401, "no valid token"},
		"one for reading":     {body("t", "r", "x"), []string{"Authorization", "Bearer key acme/reader"}, 403, "SCOPE_MISSING"},
		"another site":        {body("t", "r", "x"), []string{"Origin", "https://evil.example"}, 403, "may not ask"},
	} {
		code, got := s.post(c.body, c.headers...)
		if code != c.code || !strings.Contains(got, c.says) {
			t.Errorf("%s: %d %s", name, code, got)
		}
	}
	if n := s.calls.Load(); n != before {
		t.Errorf("the model was called %d times", n-before)
	}
	res, err := s.Client().Get(s.URL + "/agui")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Error(res.Status)
	}
}

// A conversation of another tenant is not there, whichever name it is called by.
func TestThreadsOfOthers(t *testing.T) {
	t.Parallel()
	s := open(t)
	const ann, bob = "Bearer key acme/ann", "Bearer key bolt/bob"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/agui", strings.NewReader(body("t", "r", "use clock")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", ann)
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	conv := res.Header.Get("X-Conversation-Id")
	if code, got := s.post(body(conv, "r2", "hello"), "Authorization", ann); code != 200 {
		t.Errorf("its owner: %d %s", code, got)
	}
	if code, got := s.post(body(conv, "r2", "hello"), "Authorization", bob); code != 404 {
		t.Errorf("another tenant: %d %s", code, got)
	}
	if code, got := s.post(body("t", "r", "hello"), "Authorization", bob); code != 200 || strings.Contains(got, "noon") {
		t.Errorf("another tenant's thread of the same name: %d %s", code, got)
	}
}

// The same run is one run, however often it is sent; another input under its name is refused.
func TestRunsHappenOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	code, first := s.post(body("t", "r", "use clock"))
	calls := s.calls.Load()
	if code != 200 || !strings.Contains(first, `"type":"RUN_FINISHED"`) {
		t.Fatal(code, first)
	}
	if _, again := s.post(body("t", "r", "use clock")); !strings.Contains(again, `"content":"noon"`) || s.calls.Load() != calls {
		t.Errorf("%s after %d calls", again, s.calls.Load()-calls)
	}
	if code, got := s.post(body("t", "r", "hello")); code/100 != 4 {
		t.Errorf("%d %s", code, got)
	}
	_, asks := s.post(body("t", "q", "use ask"))
	m := regexp.MustCompile(`"interrupts":\[\{"id":"([^"]+)"`).FindStringSubmatch(asks)
	if m == nil {
		t.Fatal(asks)
	}
	if code, got := s.post(body("t", "r3", "hello")); code != 409 || !strings.Contains(got, "waits for answers") {
		t.Errorf("%d %s", code, got)
	}
	resume := func(payload string) string {
		return `{"threadId":"t","runId":"a","messages":[],"resume":[{"interruptId":"` + m[1] + `","status":"resolved","payload":` + payload + `}]}`
	}
	calls = s.calls.Load()
	for range 2 {
		if code, got := s.post(resume(" true ")); code != 200 || !strings.Contains(got, `"content":"true"`) || strings.Contains(got, "TOOL_CALL_START") {
			t.Errorf("%d %s", code, got)
		}
	}
	if n := s.calls.Load() - calls; n != 1 {
		t.Errorf("the model was called %d times", n)
	}
	if code, got := s.post(resume("false")); code != 409 {
		t.Errorf("%d %s", code, got)
	}
}

// An answer without a payload is null, which is the zero value of what the tool asked for.
func TestAnAnswerWithoutAPayload(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, asks := s.post(body("t", "q", "use name"))
	m := regexp.MustCompile(`"interrupts":\[\{"id":"([^"]+)"`).FindStringSubmatch(asks)
	if m == nil {
		t.Fatal(asks)
	}
	resume := `{"threadId":"t","runId":"a","messages":[],"resume":[{"interruptId":"` + m[1] + `","status":"resolved"}]}`
	if code, got := s.post(resume); code != 200 || !strings.Contains(got, `"outcome":{"type":"success"}`) {
		t.Errorf("%d %s", code, got)
	}
}

// A run keeps the settings that it began with: answers may repeat them, and may bring no others.
func TestSettingsThatComeWithAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	with := func(body, limits string) string {
		return strings.TrimSuffix(body, "}") + `,"forwardedProps":{"braid":{"limits":` + limits + `}}}`
	}
	_, asks := s.post(with(body("t", "q", "use name"), `{"max_turns":5}`))
	m := regexp.MustCompile(`"interrupts":\[\{"id":"([^"]+)"`).FindStringSubmatch(asks)
	if m == nil {
		t.Fatal(asks)
	}
	resume := `{"threadId":"t","runId":"a","messages":[],"resume":[{"interruptId":"` + m[1] + `","status":"resolved","payload":"Ann"}]}`
	if code, got := s.post(with(resume, `{"max_turns":6}`)); code != 409 || !strings.Contains(got, "RUN_HAS_OTHER_SETTINGS") || !strings.Contains(got, "limits: ") {
		t.Errorf("other limits: %d %s", code, got)
	}
	for range 2 { // the second one repeats answers of a run that has ended
		if code, got := s.post(with(resume, `{"max_turns":5}`)); code != 200 || !strings.Contains(got, `"outcome":{"type":"success"}`) {
			t.Errorf("the same limits: %d %s", code, got)
		}
	}
}
