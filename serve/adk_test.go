package serve_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/server"
)

// ADK's requests are answered where they are asked for, below the base path and beside the others.
func TestADK(t *testing.T) {
	t.Parallel()
	for asked, want := range map[bool]int{true: http.StatusOK, false: http.StatusNotFound} {
		s := open(t, serve.Options{ADK: asked, Token: secret.New("a-token-of-the-test"), API: server.Options{Base: "/b"}})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/b/adk/apps/default/users/ann/sessions/s", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer a-token-of-the-test")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != want || asked && !strings.Contains(string(b), `"id":"s","appName":"default","userId":"ann"`) {
			t.Errorf("asked for: %t: %s %v %s", asked, res.Status, err, b)
		}
	}
}
