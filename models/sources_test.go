package models

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// The hint of an error names where key and address really come from.
func TestHintsNameTheKeyAndTheAddressThatWereUsed(t *testing.T) {
	t.Parallel()
	bodies := map[int]string{
		http.StatusUnauthorized: `{"type":"error","error":{"type":"authentication_error","status":"UNAUTHENTICATED","code":401,"message":"no"}}`,
		http.StatusNotFound:     `{"type":"error","error":{"type":"not_found_error","status":"NOT_FOUND","code":404,"message":"no"}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status := http.StatusUnauthorized
		if strings.Contains(r.URL.Path, "missing") {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(bodies[status]))
	}))
	t.Cleanup(server.Close)
	usual := map[string][2]string{
		"openai":    {"OPENAI_API_KEY", "OPENAI_BASE_URL"},
		"anthropic": {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		"gemini":    {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
	}
	names := map[string]string{"openai": "gpt-4o", "anthropic": "claude-sonnet-5-5", "gemini": "gemini-3.6-flash"}
	type hinted struct {
		vars       []string
		query      string
		want, lack string
	}
	for vendor, v := range usual {
		cases := map[string]hinted{
			"the usual variables, a wrong key": {[]string{v[0], "k", v[1], server.URL}, "", v[0], "base="},
			"another key":                      {[]string{"MY_KEY", "k"}, "?key=MY_KEY&base=" + server.URL, "MY_KEY", v[0]},
			"the usual variables, no model":    {[]string{v[0], "k", v[1], server.URL + "/missing"}, "", v[1], "base="},
			"an address of the reference":      {[]string{"MY_KEY", "k"}, "?key=MY_KEY&base=" + server.URL + "/missing", "base=", v[1]},
		}
		if vendor == "openai" { // servers that speak its protocol may need no key
			cases["an address without a key"] = hinted{[]string{v[0], "k"}, "?base=" + server.URL, "key=NAME", v[0]}
		}
		for name, tc := range cases {
			m, err := openIn(env(tc.vars...), vendor+":"+names[vendor]+tc.query)
			if err != nil {
				t.Fatalf("%s, %s: %v", vendor, name, err)
			}
			var e *event.Error
			req := &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hi."}}}}}
			for _, err := range m.Stream(t.Context(), req) {
				errors.As(err, &e)
			}
			if e == nil || !strings.Contains(e.Hint, tc.want) || strings.Contains(e.Hint, tc.lack) {
				t.Errorf("%s, %s: %+v", vendor, name, e)
			}
		}
	}
}
