package console

import (
	"embed"
	"net/http"
)

//go:embed agentcore
var agentcoreFiles embed.FS

// AgentCore serves the page for an agent that answers as those on Amazon Bedrock AgentCore
// do: a prompt, the text as it grows, a card for each tool, tokens and latency, and the
// raw events on demand (seed 1). It asks "invocations" beside itself, so the handler belongs at the
// path below which that is served, with the prefix stripped.
//
// The page itself holds no secret. A token, where the server wants one, is typed in or
// follows the address as "#token=…", which browsers do not send; it stays in the tab.
//
// The policy that the page comes with lets nothing run but its own files, and lets it
// talk to its own server alone. Other paths are 404, other methods than GET and HEAD 405.
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
