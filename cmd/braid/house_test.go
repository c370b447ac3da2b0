package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
)

// site is "braid serve" in this process, asked over HTTP.
type site struct {
	t *testing.T
	// url is the server's address, token the operator's, data its folder.
	url, token, data string
	// log has the server's standard error.
	log *lockedBuffer
	// end ends the server and returns its exit code.
	end func() int
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// clear empties the buffer.
func (l *lockedBuffer) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = bytes.Buffer{}
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serveIn runs "braid serve" with real models on a data folder and waits until it responds. change, if
// not nil, changes the process first.
func serveIn(t *testing.T, data string, env map[string]string, args ...string) *site {
	t.Helper()
	s, code := tryServe(t, data, env, args...)
	if s.url == "" {
		t.Fatalf("it does not serve: exit %d\n%s", code, s.log)
	}
	return s
}

// tryServe is serveIn for a server that may not start. Then url is empty, and code is its exit code.
func tryServe(t *testing.T, data string, env map[string]string, args ...string) (s *site, code int) {
	t.Helper()
	p, _, _ := testProcess(t, env, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", data, "--titles", "words", "--log", "json"}, args...)...)
	p.openRef = nil
	r, w := io.Pipe()
	s = &site{t: t, data: data, log: &lockedBuffer{}}
	p.Stdout, p.Stderr = w, s.log
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		code := p.run(ctx)
		_ = w.Close()
		done <- code
	}()
	s.end = sync.OnceValue(func() int {
		stop()
		return <-done
	})
	t.Cleanup(func() { s.end() })
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "braid serves on "); ok {
			s.url = url
			break
		}
	}
	if s.url == "" {
		return s, s.end()
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	token, err := os.ReadFile(filepath.Join(data, conf.TokenFile))
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	return s, 0
}

// ask sends a request with a token, "" for the operator's, and returns the status and the body.
func (s *site) ask(token, method, path, body string) (status int, answer string) {
	s.t.Helper()
	return s.askFor(token, method, path, body, "application/json")
}

// askFor is ask with an Accept header.
func (s *site) askFor(token, method, path, body, accept string) (status int, answer string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token == "" {
		token = s.token
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", accept)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// must is ask for requests that have to succeed. It returns the body.
func (s *site) must(token, method, path, body string) map[string]any {
	s.t.Helper()
	status, raw := s.ask(token, method, path, body)
	if status >= 300 {
		s.t.Fatalf("%s %s: %d: %s", method, path, status, raw)
	}
	v := map[string]any{}
	if raw != "" {
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
	}
	return v
}

// key makes a key of a tenant.
func (s *site) key(tenant, user string, scopes ...string) string {
	s.t.Helper()
	in, err := json.Marshal(map[string]any{"scopes": scopes, "user": user})
	if err != nil {
		s.t.Fatal(err)
	}
	token, ok := s.must("", "POST", "/v1/admin/tenants/"+tenant+"/keys", string(in))["token"].(string)
	if !ok {
		s.t.Fatal("the key has no token")
	}
	return token
}

// conversation creates a conversation and returns its id.
func (s *site) conversation(token string) string {
	s.t.Helper()
	id, ok := s.must(token, "POST", "/v1/conversations", "")["id"].(string)
	if !ok {
		s.t.Fatal("the conversation has no id")
	}
	return id
}

// run runs to the end and returns the status and the body; model may be "".
func (s *site) run(token, conversation, text, model string) (status int, answer string) {
	s.t.Helper()
	in := map[string]any{"user_input": text}
	if model != "" {
		in["model"] = model
	}
	body, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.ask(token, "POST", "/v1/conversations/"+conversation+"/runs", string(body))
}
