package adk_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/server/front"
)

// Every route but health and version needs a credential, and those that write need one for writing.
func TestEveryRouteNeedsACredential(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session("Bearer key acme/reader2", "POST", "/apps/default/users/reader2/sessions/s", "")
	const at = "/apps/default/users/reader/sessions"
	for _, route := range []string{
		"GET /list-apps", "GET /apps/default/app-info", "GET " + at, "POST " + at, "GET " + at + "/s", "POST " + at + "/s", "PATCH " + at + "/s",
		"DELETE " + at + "/s", "GET " + at + "/s/artifacts", "POST " + at + "/s/artifacts", "GET " + at + "/s/artifacts/a",
		"DELETE " + at + "/s/artifacts/a", "POST /run", "POST /run_sse", "GET /run_live", "GET /dev/apps/default/eval_sets",
		"GET /dev/apps/default/eval_results",
	} {
		method, path, _ := strings.Cut(route, " ")
		for _, key := range []string{"", "Bearer", "Bearer ", "Bearer no", "Basic " + ann, strings.Repeat("x", 10_000)} {
			if code, got := s.ask(key, method, path, "{}"); code != 401 || !strings.Contains(got, "UNAUTHENTICATED") {
				t.Errorf("%s with %.20q: %d %s", route, key, code, got)
			}
		}
		if code, got := s.ask("Bearer key acme/reader", method, path, "{}"); (code == 403) != (method != "GET" || path == "/run_live") {
			t.Errorf("%s with a key for reading: %d %s", route, code, got)
		}
	}
}

// Hostile names and sizes are refused, and nothing breaks.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.session(ann, "POST", sessions+"/s", "")
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		method, path, body string
		code               int
	}{
		"a long user":          {"GET", "/apps/default/users/" + long + "/sessions", "", 400},
		"a long session":       {"GET", sessions + "/" + long, "", 404},
		"a long app":           {"GET", "/apps/" + long + "/users/ann/sessions", "", 404},
		"a path that climbs":   {"GET", "/apps/default/users/ann/sessions/..%2F..%2Fs", "", 404},
		"a zero":               {"GET", sessions + "/a%00b", "", 404},
		"no UTF-8":             {"GET", sessions + "/%ff", "", 404},
		"a zero in a new one":  {"POST", sessions, `{"sessionId":"a\u0000b"}`, 400},
		"deep":                 {"POST", "/run", `{"newMessage":` + strings.Repeat("[", 100_000), 400},
		"deep state":           {"PATCH", sessions + "/s", `{"stateDelta":{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`, 400},
		"large":                {"POST", "/run", `{"x":"` + strings.Repeat("x", front.DefaultBodyBytes) + `"}`, 413},
		"null for a map":       {"PATCH", sessions + "/s", `{"stateDelta":null}`, 400},
		"no JSON in the state": {"PATCH", sessions + "/s", `{"stateDelta":{"a":nope}}`, 400},
		"an implausible time":  {"POST", sessions, `{"events":[{"timestamp":-5}]}`, 400},
		"another run's id":     {"POST", "/run_sse", `{"userId":"ann","sessionId":"s","invocationId":"run_abc"}`, 404},
		"a method":             {"PUT", sessions + "/s", "{}", 404},
	} {
		if code, got := s.ask(ann, c.method, c.path, c.body); code != c.code {
			t.Errorf("%s: %d %.200s", name, code, got)
		}
	}
	if code, got := s.ask(ann, http.MethodGet, sessions+"/s", ""); code != 200 || !strings.Contains(got, `"state":{}`) {
		t.Errorf("%d %s", code, got)
	}
}

// Of many who create one session at once, one does.
func TestOneSessionAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	var wg sync.WaitGroup
	codes := make([]int, 12)
	for i := range codes {
		wg.Go(func() { codes[i], _ = s.ask(ann, "POST", sessions, `{"sessionId":"one","state":{"n":1}}`) })
	}
	wg.Wait()
	made := 0
	for _, code := range codes {
		switch code {
		case 200:
			made++
		case 409:
		default:
			t.Errorf("%d", code)
		}
	}
	if made != 1 {
		t.Errorf("%d sessions were made", made)
	}
	if got := s.session(ann, "GET", sessions+"/one", ""); got.State["n"] != 1.0 {
		t.Errorf("%+v", got)
	}
}
