package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/braidrun/braid/tool/mcpauth/mcpauthtest"
)

const signInScript = `
rules:
  - name: sign in
    when: {user: who, tool: docs___sign_in}
    reply:
      - call: docs___sign_in
        args: {}
  - name: signed in
    when: {after: docs___sign_in, tool: whoami}
    reply:
      - call: whoami
        args: {}
  - name: not signed in
    when: {after: docs___sign_in}
    reply: "No: ${result}"
  - name: answer
    when: {after: whoami}
    reply: "It says: ${result}."
`

// signInRun is braid run with a server that wants its user to sign in.
type signInRun struct {
	site  *mcpauthtest.Site
	p     *process
	out   *lockedBuffer
	errs  *strings.Builder
	stdin *io.PipeWriter
	code  chan int
}

func beginSignIn(t *testing.T, site *mcpauthtest.Site, data string, flags ...string) *signInRun {
	t.Helper()
	dir := t.TempDir()
	script, file := filepath.Join(dir, "script.yaml"), filepath.Join(dir, "mcp.json")
	for name, text := range map[string]string{script: signInScript, file: fmt.Sprintf(`{"mcpServers":{"docs":{"type":"http","url":%q}}}`, site.URL)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &signInRun{site: site, out: &lockedBuffer{}, code: make(chan int, 1)}
	args := append([]string{"run", "--model", "demo:" + script, "--mcp", file, "--data", data}, flags...)
	r.p, _, r.errs = testProcess(t, nil, append(args, "who am I?")...)
	in, out := io.Pipe()
	r.p.Stdin, r.p.Stdout, r.stdin, r.p.openRef = in, r.out, out, nil
	t.Cleanup(func() { _ = out.Close() })
	go func() { r.code <- r.p.run(t.Context()) }()
	return r
}

// link waits for the link to sign in.
func (r *signInRun) link(t *testing.T) string {
	t.Helper()
	var link string
	defer func() {
		if link == "" {
			t.Log(r.out.String(), r.errs.String())
		}
	}()
	until(t, "a link is shown", func() bool {
		link = regexp.MustCompile(`https?://\S+/authorize\S+`).FindString(r.out.String())
		return link != ""
	})
	return link
}

// ends waits for the end of the command and checks its output.
func (r *signInRun) ends(t *testing.T, code int, parts ...string) {
	t.Helper()
	if got := <-r.code; got != code {
		t.Errorf("exit code %d\n%s\n%s", got, r.out.String(), r.errs.String())
	}
	all := r.out.String() + r.errs.String()
	for _, part := range parts {
		if !strings.Contains(all, part) {
			t.Errorf("%q is not in %s", part, all)
		}
	}
	for _, token := range r.site.Tokens() {
		if strings.Contains(all, token) {
			t.Errorf("%q is in %s", token, all)
		}
	}
}

// A browser that comes back ends the sign-in, and the next run needs none.
func TestSigningInWithABrowser(t *testing.T) {
	t.Parallel()
	site, data := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true}), filepath.Join(t.TempDir(), "data")
	r := beginSignIn(t, site, data)
	back := site.Approve(t, r.link(t), "ann")
	get := func(address, host string) (int, string) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = host
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		page, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(page)
	}
	listener, _, _ := strings.Cut(back, "/callback")
	for _, odd := range []string{"/", "/callback", "/callback?state=guessed&code=x"} {
		if code, page := get(listener+odd, ""); code != http.StatusNotFound {
			t.Errorf("%s: %d %s", odd, code, page)
		}
	}
	if code, page := get(back, "evil.example"); code != http.StatusNotFound {
		t.Errorf("another host: %d %s", code, page)
	}
	if code, page := get(back, ""); code != http.StatusOK || !strings.Contains(page, "You are signed in to docs") {
		t.Fatalf("%d %s", code, page)
	}
	r.ends(t, 0, "It says: you are ann.", "signed in to docs")
	http.DefaultClient.CloseIdleConnections()

	again := beginSignIn(t, site, data)
	again.ends(t, 0, "It says: you are ann.")
	if strings.Contains(again.out.String(), "/authorize") {
		t.Errorf("the user signs in again: %s", again.out.String())
	}
	err := filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, token := range site.Tokens() {
			if strings.Contains(string(content), token) {
				t.Errorf("%q is in %s", token, path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// On another computer the user pastes the address. A wrong one is asked for again.
func TestSigningInByPasting(t *testing.T) {
	t.Parallel()
	site := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	r := beginSignIn(t, site, filepath.Join(t.TempDir(), "data"), "--ephemeral")
	back := site.Approve(t, r.link(t), "bob")
	_, _ = io.WriteString(r.stdin, "what?\n\nhttp://127.0.0.1/callback?state=guessed&code=x\n"+back+"\n")
	r.ends(t, 0, "It says: you are bob.", "not signed in yet", "has no such sign-in")
}

// A user who declines does not end the run, and without a user the run is cancelled.
func TestNotSigningIn(t *testing.T) {
	t.Parallel()
	site := mcpauthtest.Start(t, mcpauthtest.Rules{Registers: true})
	r := beginSignIn(t, site, filepath.Join(t.TempDir(), "data"))
	r.link(t)
	_, _ = io.WriteString(r.stdin, "n\n")
	r.ends(t, 0, "No: ", "declined")

	r = beginSignIn(t, site, filepath.Join(t.TempDir(), "data"))
	r.link(t)
	_ = r.stdin.Close()
	if code := <-r.code; code == 0 {
		t.Errorf("%s", r.out.String())
	}
}
