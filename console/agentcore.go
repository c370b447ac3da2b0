package console

import (
	"embed"
	"net/http"
)

//go:embed agentcore
var agentcoreFiles embed.FS

// AgentCore serves the page for an agent with AgentCore's protocol: a prompt, the growing
// text, a card per tool, tokens and latency, and the raw events on demand (seed 1). The page
// calls "invocations" relative to itself, so mount the handler at the path below which that is
// served, with the prefix stripped.
//
// The page contains no secret. If the server requires a token, the user types it in, or it
// follows the address as "#token=…", which browsers do not send. It stays in the tab.
//
// The page's content security policy allows only its own files and its own server. Other
// paths are 404, methods other than GET and HEAD 405.
func AgentCore() http.Handler {
	serve := http.FileServerFS(agentcoreFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		switch r.URL.Path {
		case "/", "/page.js", "/stream.js", "/style.css":
		default:
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
			"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // a newer binary has a newer page
		inside := r.Clone(r.Context())
		inside.URL.Path, inside.URL.RawPath = "/agentcore"+r.URL.Path, ""
		serve.ServeHTTP(w, inside)
	})
}
