package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Every operation of the API refuses a parameter that it does not know, and one that is there twice, before it
// does anything. Most likely it is misspelt.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	dir, with := withUsers(t, "alpha", "default")
	s := open(t, with)
	owner := userKey(t, dir, "alpha", "", administrator...)
	ids := s.belongings("alpha", owner)
	seen := 0
	for _, d := range describedOperations(t) {
		if !strings.HasPrefix(d.path, "/v1/") {
			continue
		}
		seen++
		bad := []string{"surprise=1", "surprise", "%zz"}
		if len(d.query) > 0 {
			bad = append(bad, d.query[0]+"=1&"+d.query[0]+"=1")
		}
		for _, q := range bad {
			res := s.ask(d.method, d.at(ids)+"?"+q, d.body, "Authorization", "Bearer "+owner)
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != 400 || !strings.Contains(string(body), "INVALID_REQUEST") {
				t.Errorf("%s %s?%s: %d %s", d.method, d.path, q, res.StatusCode, body)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d operations were asked", seen)
	}
	// Nothing was done: what DELETE and the others name is still there.
	s.json(200, http.MethodGet, "/v1/conversations/"+ids["id"], "", "Authorization", "Bearer "+owner)
}
