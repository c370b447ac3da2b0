package console_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/braidrun/braid/console"
)

// The page and its files are served with a policy that lets nothing else run, and nothing
// else is served.
func TestAgentCore(t *testing.T) {
	t.Parallel()
	h := console.AgentCore()
	for _, c := range []struct {
		method, path string
		status       int
		kind         string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/page.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/stream.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/style.css", 200, "text/css; charset=utf-8"},
		{"GET", "/index.html", 404, ""},
		{"GET", "/agentcore/page.js", 404, ""},
		{"GET", "/../agentcore.go", 404, ""},
		{"POST", "/", 405, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, "http://x"+c.path, http.NoBody))
		if w.Code != c.status || c.kind != "" && w.Header().Get("Content-Type") != c.kind {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Header().Get("Content-Type"))
		}
		if policy := w.Header().Get("Content-Security-Policy"); c.status == 200 && !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: policy %q", c.path, policy)
		}
	}
}

// The page's files name no other host, hold no script in the page, and make no HTML of what
// an agent says.
func TestAgentCoreFiles(t *testing.T) {
	t.Parallel()
	files := os.DirFS("agentcore")
	bad := map[string]*regexp.Regexp{
		"another host":  regexp.MustCompile(`(?i)https?://|src="//|@import`),
		"inline script": regexp.MustCompile(`(?i)<script>|<style>|\son[a-z]+=|style="`),
		"HTML of text":  regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function`),
	}
	n := 0
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		data, err := fs.ReadFile(files, path)
		for what, pattern := range bad {
			if found := pattern.Find(data); found != nil {
				t.Errorf("%s: %s: %q", path, what, found)
			}
		}
		return err
	})
	if err != nil || n != 4 {
		t.Errorf("%d files, %v", n, err)
	}
}
