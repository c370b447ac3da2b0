package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// agentcoreSite starts a server with AgentCore's routes. arn and keys are what it prints.
func agentcoreSite(t *testing.T, model string) (s *site, arn, keys string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s = startServer(t, dir, "--agentcore", "--model", model)
	return s, "arn:aws:bedrock-agentcore:us-east-1:000000000000:runtime/braid-0000000000", filepath.Join(dir, "aws-credentials")
}

// invoke runs braid agentcore invoke.
func invoke(t *testing.T, env []string, args ...string) (out, errs string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), braid, append([]string{"agentcore", "invoke"}, args...)...)
	cmd.Env = append(environment(t), env...)
	cmd.WaitDelay = 5 * time.Second
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // the exit code says it
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// The command asks the server that it is itself: at the container's door with the token, and
// at the platform's door signed with the keys that the server made. In both cases a
// person sees the text, the tools and what it cost.
func TestAgentCoreInvoke(t *testing.T) {
	t.Parallel()
	s, arn, keys := agentcoreSite(t, "demo:tour?speed=0")
	token := []string{"BRAID_TOKEN=" + s.token}
	aws := []string{"AWS_SHARED_CREDENTIALS_FILE=" + keys, "AWS_PROFILE=default", "AWS_EC2_METADATA_DISABLED=true"}
	for name, c := range map[string]struct {
		env  []string
		args []string
	}{
		"token":              {token, nil},
		"signed":             {aws, []string{"--arn", arn, "--qualifier", "DEFAULT"}},
		"token at the front": {token, []string{"--arn", arn}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, exit := invoke(t, c.env, append(c.args, "--url", s.url, "Show me what you can do.")...)
			if exit != 0 || strings.Count(out, "Tool #") < 3 || !strings.Contains(out, "failed:") {
				t.Errorf("exit %d\n%s\n%s", exit, out, errs)
			}
			if !strings.Contains(errs, " tokens · model ") || !strings.Contains(errs, "· session ") {
				t.Errorf("the last line is %q", errs)
			}
			out, errs, exit = invoke(t, c.env, append(c.args, "--url", s.url, "--json", "Show me what you can do.")...)
			var sum struct {
				Text     string
				Tools    []json.RawMessage
				Complete bool
			}
			if err := json.Unmarshal([]byte(out), &sum); err != nil || exit != 0 || sum.Text == "" || len(sum.Tools) < 3 || !sum.Complete {
				t.Errorf("as JSON: %v, exit %d\n%s\n%s", err, exit, out, errs)
			}
		})
	}
}

// A session goes on, its raw stream can be kept and looked into, and a payload of one's own is
// sent as it is.
func TestAgentCoreInvokeForms(t *testing.T) {
	t.Parallel()
	s, _, _ := agentcoreSite(t, "demo:tour?speed=0")
	token := []string{"BRAID_TOKEN=" + s.token}
	const session = "a-session-of-at-least-33-characters"
	raw, errs, exit := invoke(t, token, "--url", s.url, "--session", session, "--raw", "hello")
	if exit != 0 || !strings.HasPrefix(raw, "data: {\"init_event_loop\": true}\n\n") {
		t.Fatalf("exit %d\n%s\n%s", exit, raw, errs)
	}
	look := exec.CommandContext(t.Context(), braid, "agentcore", "inspect", "-")
	look.Env, look.Stdin = environment(t), strings.NewReader(raw)
	if out, err := look.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("[complete] stop=end_turn")) {
		t.Errorf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "payload.json")
	if err := os.WriteFile(file, []byte(`{"input": {"prompt": "hello"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, exit = invoke(t, token, "--url", s.url, "--session", session, "--payload", file)
	if exit != 0 || !strings.Contains(errs, "session "+session) {
		t.Errorf("exit %d: %s", exit, errs)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	res := s.ask("GET", "/v1/conversations", "")
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil || len(list.Data) != 1 {
		t.Fatalf("%v: one session is %d conversations", err, len(list.Data))
	}
	if runs := s.json(200, "GET", "/v1/conversations/"+list.Data[0].ID+"/runs", ""); len(runs["data"].([]any)) != 2 {
		t.Errorf("the runs of the session: %v", runs)
	}
}

// What a server refuses is told with what to do next, and the exit code of its kind.
func TestAgentCoreInvokeRefused(t *testing.T) {
	t.Parallel()
	s, arn, keys := agentcoreSite(t, "demo:tour?speed=0")
	wrong := filepath.Join(t.TempDir(), "credentials")
	good, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Replace(good, []byte("aws_secret_access_key = "), []byte("aws_secret_access_key = x"), 1)
	if err := os.WriteFile(wrong, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	token := []string{"BRAID_TOKEN=" + s.token}
	for name, c := range map[string]struct {
		env  []string
		args []string
		err  string
		exit int
	}{
		"no token":        {nil, nil, "no valid token", 10},
		"another runtime": {token, []string{"--arn", arn + "x"}, "there is no such agent runtime", 12},
		"wrong keys":      {[]string{"AWS_SHARED_CREDENTIALS_FILE=" + wrong}, []string{"--arn", arn}, "signature", 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs, exit := invoke(t, c.env, append(c.args, "--url", s.url, "hello")...)
			if exit != c.exit || out != "" || !strings.Contains(errs, c.err) || !strings.Contains(errs, "next: ") {
				t.Errorf("exit %d, %q\n%s", exit, out, errs)
			}
		})
	}
}

// The page of the built command is there without a credential, and what it asks is not.
func TestAgentCorePage(t *testing.T) {
	t.Parallel()
	s, _, _ := agentcoreSite(t, "demo:tour?speed=0")
	res := s.ask("GET", "/", "", "Authorization", "")
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page: %s", res.Status)
	}
	if res := s.ask("POST", "/invocations", `{"prompt":"hi"}`, "Authorization", ""); res.StatusCode != 401 && res.StatusCode != 403 {
		t.Errorf("without a credential: %s", res.Status)
	}
}

// The answer of the built command is an event stream whose every line is `data: ` and one
// JSON value, in pieces that come before the run has ended.
func TestAgentCoreStream(t *testing.T) {
	t.Parallel()
	s, _, _ := agentcoreSite(t, "demo:tour?speed=1")
	res := s.ask("POST", "/invocations", `{"prompt":"Show me what you can do."}`, "Accept", "text/event-stream")
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("%s, %s", res.Status, kind)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var first, last time.Time
	n := 0
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok || !json.Valid(value) {
			t.Errorf("line %q", line)
		}
		if last = time.Now(); n == 0 {
			first = last
		}
		n++
	}
	const most, least = 20, 500 * time.Millisecond // the tour takes its time over many frames
	if lines.Err() != nil || n < most || last.Sub(first) < least {
		t.Errorf("%d lines within %s: %v", n, last.Sub(first), lines.Err())
	}
}
