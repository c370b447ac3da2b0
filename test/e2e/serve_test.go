package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// site is a braid serve that is up.
type site struct {
	t          *testing.T
	cmd        *exec.Cmd
	url, token string
	// http is what asks it; nil is the default client.
	http  *http.Client
	log   *bytes.Buffer
	ended chan error
}

// startServer starts one on a free port; dir is the data folder.
func startServer(t *testing.T, dir string, args ...string) *site {
	t.Helper()
	return startServerIn(t, environment(t), dir, args...)
}

// startServerIn starts one in an environment of its own.
func startServerIn(t *testing.T, env []string, dir string, args ...string) *site {
	t.Helper()
	s := &site{t: t, log: &bytes.Buffer{}, ended: make(chan error, 1)}
	if !slices.Contains(args, "--addr") {
		args = append(args, "--addr", "127.0.0.1:0")
	}
	s.cmd = exec.Command(braid, append([]string{"serve", "--data", dir}, args...)...)
	s.cmd.Env = env
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for s.token == "" && lines.Scan() {
		line := lines.Text()
		if _, url, ok := strings.Cut(line, "braid serves on "); ok {
			s.url = url
		}
		if token, ok := strings.CutPrefix(line, "  token  "); ok {
			s.token = token
			if file, kept := strings.CutPrefix(token, "in "); kept {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				s.token = strings.TrimSpace(string(data))
			}
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		s.ended <- s.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		select {
		case err := <-s.ended:
			s.ended <- err // it was killed, or a test has looked at how it ended
		case <-time.After(10 * time.Second):
		}
	})
	if s.url == "" || s.token == "" {
		t.Fatalf("the server does not say where it is: %s", s.log)
	}
	return s
}

func (s *site) client() *http.Client {
	if s.http == nil {
		return http.DefaultClient
	}
	return s.http
}

func (s *site) ask(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client().Do(req)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (s *site) json(status int, method, path, body string, headers ...string) map[string]any {
	s.t.Helper()
	res := s.ask(method, path, body, headers...)
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %s: %v", method, path, res.StatusCode, status, raw, err)
	}
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// wait waits for the process to end and gives its exit code.
func (s *site) wait() int {
	s.t.Helper()
	select {
	case err := <-s.ended:
		s.ended <- err
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(2 * time.Minute):
		s.t.Fatal("the server does not end")
		return 0
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	conv := s.json(201, "POST", "/v1/conversations", "")["id"].(string)
	got := s.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"What is 6 times 7?"}`, "Accept", "application/json")
	if !strings.Contains(got["result"].(string), "42") || got["simulated"] != true {
		t.Errorf("the result is %v", got)
	}
	// A second server, or another command, is told who has the folder; looking is free.
	second := exec.Command(braid, "serve", "--addr", "127.0.0.1:0", "--data", dir)
	second.Env = environment(t)
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprint(s.cmd.Process.Pid)) {
		t.Errorf("a second server: %v: %s", err, out)
	}
	show := exec.Command(braid, "conversations", "--data", dir)
	show.Env = environment(t)
	if out, err := show.CombinedOutput(); err != nil || !strings.Contains(string(out), conv) {
		t.Errorf("braid conversations: %v: %s", err, out)
	}
	// So is the port.
	taken := exec.Command(braid, "serve", "--addr", strings.TrimPrefix(s.url, "http://"), "--data", filepath.Join(t.TempDir(), "other"))
	taken.Env = environment(t)
	if out, err := taken.CombinedOutput(); err == nil || !strings.Contains(string(out), "another program answers on") || !strings.Contains(string(out), "next:") {
		t.Errorf("a port in use: %v: %s", err, out)
	}
	// The command talks to it: the token of the data folder is found.
	for _, c := range []struct {
		args  []string
		stdin string
		says  string
	}{
		{[]string{"run", "-q", "What is 6 times 7?"}, "", "The result of 6 * 7 is 42.\n"},
		{[]string{"chat", "-q"}, "What is 2+2?\n/reset\nWhat is 3+3?\n", "The result of 2 + 2 is 4.\nThe result of 3 + 3 is 6.\n"},
		{[]string{"chat", "-q", "--continue"}, "What is 4+4?\n", "The result of 4 + 4 is 8.\n"},
		{[]string{"run", "-q", "--model", "demo:approval", "Delete the notes."}, "yes\n", ""},
	} {
		cmd := exec.Command(braid, append(c.args, "--server", s.url, "--data", dir)...)
		cmd.Env, cmd.Stdin = environment(t), strings.NewReader(c.stdin)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || c.says != "" && string(out) != c.says || !strings.Contains(errs.String(), "simulated") {
			t.Errorf("%v: %v: %q %s", c.args, err, out, &errs)
		}
	}
	wrong := exec.Command(braid, "run", "--server", s.url, "--data", dir, "x")
	wrong.Env = append(environment(t), "BRAID_TOKEN=wrong")
	if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), "token") || wrong.ProcessState.ExitCode() != 10 {
		t.Errorf("a wrong token: %v: %s", err, out)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.log)
	}
	// The token is nowhere but where it is printed and kept.
	if strings.Contains(s.log.String(), s.token) {
		t.Errorf("the log holds the token:\n%s", s.log)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil || strings.TrimSpace(string(kept)) != s.token {
		t.Errorf("the token that is kept is %q: %v", kept, err)
	}
	// It is the same when the server is started again, and so is the conversation.
	again := startServer(t, dir)
	if again.token != s.token {
		t.Errorf("the token has changed")
	}
	if got := again.json(200, "GET", "/v1/conversations/"+conv, ""); got["title"] != "What is 6 times 7?" {
		t.Errorf("the conversation is %v", got)
	}
}

var idLine = regexp.MustCompile(`(?m)^id: (.*)$`)

// A server that is killed in the middle of a run goes on with it, and its reader
// comes back to the same text.
func TestAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	const model = "demo:assistant?first_byte=50ms&rate=20"
	s := startServer(t, dir, "--model", model)
	conv := s.json(201, "POST", "/v1/conversations", "")["id"].(string)
	res := s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"What is 6 times 7?"}`)
	run := res.Header.Get("X-Run-Id")
	// Until the model speaks.
	var seen bytes.Buffer
	part := make([]byte, 256)
	for !strings.Contains(seen.String(), "event: text_delta") {
		n, err := res.Body.Read(part)
		seen.Write(part[:n])
		if err != nil {
			t.Fatalf("%v: %s", err, seen.String())
		}
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait()
	rest, _ := io.ReadAll(res.Body)
	seen.Write(rest)
	ids := idLine.FindAllStringSubmatch(seen.String(), -1)
	last := ids[len(ids)-1][1]

	again := startServer(t, dir, "--model", model)
	back := again.ask("GET", "/v1/conversations/"+conv+"/runs/"+run+"/stream", "", "Last-Event-ID", last)
	text, err := io.ReadAll(back.Body)
	if err != nil || back.StatusCode != 200 {
		t.Fatalf("%d %v: %s", back.StatusCode, err, text)
	}
	stream := string(text)
	if !strings.Contains(stream, "event: retry") || strings.Count(stream, "event: result") != 1 || !strings.Contains(stream, "42") {
		t.Errorf("the stream is\n%s", stream)
	}
	whole := again.json(200, "GET", "/v1/conversations/"+conv+"/runs/"+run, "")
	if whole["status"] != "completed" {
		t.Errorf("the run is %v", whole)
	}
	// What was there before is not sent again: the first frame behind the cursor is newer.
	if strings.Contains(stream, "event: init") {
		t.Errorf("the run begins again:\n%s", stream)
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"an address without a port", []string{"--addr", "localhost"}, "is no address with a port"},
		{"a form of log that is none", []string{"--log", "xml"}, "is not a format of logs"},
		{"a time that is none", []string{"--run-time", "soon"}, "--run-time"},
		{"a model that is none", []string{"--model", "demo:nothing"}, "no demo script"},
		{"a list of servers that is not there", []string{"--mcp", "none.json"}, "cannot be read"},
		{"an argument", []string{"now"}, "takes no arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(braid, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data")}, c.args...)...)
			cmd.Env = environment(t)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.says) || !strings.Contains(string(out), "next:") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
