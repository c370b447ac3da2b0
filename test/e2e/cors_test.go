package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Pages of the sites that the operator has named may ask, by each door, and browsers are told so;
// pages of any other may not.
func TestPagesOfOtherSites(t *testing.T) {
	t.Parallel()
	const chat, local = "https://chat.example", "http://localhost:3000"
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--origin", chat+","+local, "--agentcore", "--model", "demo")
	conv := "/v1/conversations/" + s.json(201, "POST", "/v1/conversations", "")["id"].(string)
	allowed := func(res *http.Response, origin string) bool {
		h := res.Header
		return h.Get("Access-Control-Allow-Origin") == origin && slices.Contains(h.Values("Vary"), "Origin") &&
			h.Get("Access-Control-Allow-Credentials") == "" && !strings.Contains(h.Get("Access-Control-Expose-Headers"), "*")
	}
	sent := headersOfPages(t, s)
	for _, path := range []string{"/v1/conversations", conv + "/runs", "/v1/admin/tenants/default", "/v1/nowhere", "/healthz", "/invocations"} {
		for _, origin := range []string{chat, local} {
			res := s.ask("OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization", "Authorization", "")
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != 204 || len(body) > 0 || !allowed(res, origin) {
				t.Errorf("before it asks, a page of %s gets from %s: %s %v", origin, path, res.Status, res.Header)
			}
			list := strings.Split(strings.ToLower(res.Header.Get("Access-Control-Allow-Headers")), ", ")
			for _, name := range sent {
				if path != "/invocations" && !slices.Contains(list, name) {
					t.Errorf("%s: a page may not send %s, which the API takes: %v", path, name, list)
				}
			}
			methods := strings.Split(res.Header.Get("Access-Control-Allow-Methods"), ", ")
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				if path != "/invocations" && !slices.Contains(methods, method) {
					t.Errorf("%s: a page may not ask with %s, which the API takes: %v", path, method, methods)
				}
			}
			for _, name := range []string{"authorization", "content-type"} {
				if !slices.Contains(list, name) {
					t.Errorf("%s: a page may not send %s", path, name)
				}
			}
		}
		for _, origin := range []string{
			"https://evil.example", "http://chat.example", "https://chat.example:8443", "https://chat.example.evil.example", "https://evil-chat.example",
			"http://localhost:3001", "null", "https://CHAT.example",
		} {
			for _, method := range []string{"OPTIONS", "GET"} {
				res := s.ask(method, path, "", "Origin", origin, "Access-Control-Request-Method", "POST")
				if res.StatusCode != 403 || res.Header.Get("Access-Control-Allow-Origin") != "" || !slices.Contains(res.Header.Values("Vary"), "Origin") {
					t.Errorf("a page of %s gets from %s: %s %v", origin, path, res.Status, res.Header)
				}
			}
		}
	}
	// What comes of it can be read, whatever it is: an answer, a refusal, a stream.
	for _, c := range []struct {
		status             int
		method, path, body string
		headers            []string
	}{
		{200, "GET", conv, "", nil},
		{401, "GET", conv, "", []string{"Authorization", "Bearer wrong"}},
		{404, "GET", "/v1/nowhere", "", nil},
		{400, "POST", conv + "/runs", "{", nil},
		{200, "POST", conv + "/runs", `{"user_input":"What is 6 times 7?"}`, nil},
		{200, "POST", "/invocations", `{"prompt":"What is 6 times 7?"}`, nil},
		{401, "POST", "/invocations", `{"prompt":"x"}`, []string{"Authorization", "Bearer wrong"}},
		{200, "GET", "/ping", "", nil},
	} {
		res := s.ask(c.method, c.path, c.body, append(c.headers, "Origin", chat)...)
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != c.status || !allowed(res, chat) {
			t.Errorf("%s %s: %s, want %d: %v: %v\n%s", c.method, c.path, res.Status, c.status, err, res.Header, body)
		}
		if c.status == 200 && c.body != "" && !strings.Contains(string(body), "42") {
			t.Errorf("%s %s: %s", c.method, c.path, body)
		}
	}
	// A name that is not the server's stays one, whoever asks; and who is no page is told nothing.
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+conv, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	req.Header.Set("Origin", chat)
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 403 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("under another name: %s %v", res.Status, res.Header)
	}
	if res := s.ask("GET", conv, ""); res.StatusCode != 200 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("no page: %s %v", res.Status, res.Header)
	}
	s.tells()
}

// headersOfPages are the headers that the API's document says a request may have.
func headersOfPages(t *testing.T, s *site) (names []string) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.NewDecoder(s.ask("GET", "/openapi.json", "").Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			for _, p := range op.Parameters {
				if name := strings.ToLower(p.Name); p.In == "header" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	if len(names) < 4 {
		t.Fatalf("the document names %v", names)
	}
	return names
}

// What would match no page is refused at the start, and so would be what matches all.
func TestSitesThatAreNone(t *testing.T) {
	t.Parallel()
	cases := map[string]refusal{}
	for _, origin := range []string{
		"*", "chat.example", "https://chat.example/", "https://chat.example/app", "https://*.chat.example", "null", "https://Chat.example",
		"https://chat.example:443", "https://a.example,ftp://b.example",
	} {
		cases[origin] = refusal{args: []string{"--origin", origin}, exit: 2, says: "is not an origin"}
	}
	serveRefuses(t, cases)
}
