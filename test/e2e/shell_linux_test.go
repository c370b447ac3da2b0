package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// needSandbox skips a test where braid doctor says that there is no full sandbox. On the project's own machines that is a
// failure.
func needSandbox(t *testing.T) {
	t.Helper()
	p := newPerson(t)
	if got := p.says("", "doctor"); !strings.Contains(got.out, "sandbox of the level full") {
		if os.Getenv("CI") != "" {
			t.Fatal(got.out)
		}
		t.Skip("braid doctor finds no full sandbox")
	}
}

// shellScript writes a script that has the agent run a command.
func shellScript(t *testing.T, command string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.yaml")
	text := "rules:\n  - name: shell\n    when: {round: 1, tool: shell}\n    reply:\n      - call: shell\n        args:\n          command: " +
		command + "\n  - name: end\n    when: {round: any}\n    reply: \"It said ${result}\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestACommandOfTheShell runs in a folder, once it is allowed.
func TestACommandOfTheShell(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	p := newPerson(t)
	folder := t.TempDir()
	script := shellScript(t, `"pwd; echo made > file; cat $HOME/.bashrc /etc/shadow 2>/dev/null; env | grep SECRET"`)
	p.env = append(p.env, "SECRET=canary")
	args := []string{"run", "--model", "demo:" + script, "--workspace", folder, "--shell"}
	if got := p.says("", append(args, "Go.")...); !strings.Contains(got.out+got.errs, "shell") {
		t.Errorf("without an answer: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(folder, "file")); err == nil {
		t.Fatal("the command ran before somebody was asked")
	}
	got := p.says("", append(args, "--allow", "shell", "Go.")...)
	if got.code != 0 || !strings.Contains(got.out, "It said /workspace\n(exit code 1)") || strings.Contains(got.out, "canary") {
		t.Errorf("got %+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "file")); err != nil || string(text) != "made\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if got := p.says("", "run", "--model", "demo:"+script, "--shell", "Go."); got.code == 0 || !strings.Contains(got.errs, "name one with --workspace") {
		t.Errorf("without a workspace: %+v", got)
	}
}

// TestAKilledBraidLeavesNoCommand behind, also one that has left its session.
func TestAKilledBraidLeavesNoCommand(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	folder := t.TempDir()
	pipe := filepath.Join(folder, "alive")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	script := shellScript(t, `"exec 3>alive; (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); echo up >&3; sleep 1000"`)
	cmd := exec.Command(braid, "run", "--model", "demo:"+script, "--workspace", folder, "--shell", "--allow", "shell", "Go.")
	cmd.Env = environment(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(pipe) // waits until the command opens it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if line, err := r.ReadString('\n'); err != nil || line != "up\n" {
		t.Fatal(line, err)
	}
	_ = cmd.Process.Kill()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 { // ends when the last process has
		t.Errorf("%q, %v", rest, err)
	}
	_ = cmd.Wait()
}

// TestTheShellOfAServer is denied until the tenant's policy and the agent allow it, and its result lists the changes.
func TestTheShellOfAServer(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	script := shellScript(t, `"cat given > copy; rm given; echo 1 > new"`)
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--model", "demo:"+script, "--workspaces", "--shell")
	s.json(201, "POST", "/v1/admin/tenants", `{"id":"acme"}`)
	for _, agent := range []string{`{"id":"builder","tools":["shell","read"],"permissions":{"allow":["shell"]}}`, `{"id":"asker","tools":["shell"]}`, `{"id":"all"}`, `{"id":"wild","tools":["*"]}`} {
		s.json(201, "POST", "/v1/admin/tenants/acme/agents", agent)
	}
	key := s.json(201, "POST", "/v1/admin/tenants/acme/keys", `{"name":"k","scopes":["read","write"]}`)["token"].(string)
	tenant := *s
	tenant.token = key
	run := func(agent string) (conv string, answer map[string]any) {
		t.Helper()
		conv = tenant.json(201, "POST", "/v1/conversations", `{"agent":"`+agent+`"}`)["id"].(string)
		if res := tenant.ask("PUT", "/v1/conversations/"+conv+"/files/content?path=given", "text"); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
		res := tenant.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"go"}`, "Accept", "application/json")
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return conv, map[string]any{"status": res.StatusCode, "body": string(raw)}
	}
	ran := func(agent string) bool {
		t.Helper()
		conv, _ := run(agent)
		return tenant.ask("GET", "/v1/conversations/"+conv+"/files/content?path=copy", "").StatusCode == 200
	}
	for _, agent := range []string{"builder", "asker", "all", "wild"} {
		if ran(agent) {
			t.Errorf("%s ran a command before the policy allowed it", agent)
		}
	}
	s.json(200, "PATCH", "/v1/admin/tenants/acme", `{"policy":{"shell":true}}`)
	for _, agent := range []string{"asker", "all", "wild"} {
		if ran(agent) {
			t.Errorf("%s ran a command", agent)
		}
	}
	_, answer := run("builder")
	for _, want := range []string{`"file_changes":[{"path":"copy","kind":"added","size":4},{"path":"given","kind":"removed"},{"path":"new","kind":"added","size":2}]`} {
		if !strings.Contains(answer["body"].(string), want) {
			t.Errorf("the result is %v", answer)
		}
	}
	// A conversation that was made without files has nothing to work on, nor has its fork.
	bare := tenant.json(201, "POST", "/v1/conversations", `{"agent":"builder","workspace":false}`)
	fork := tenant.json(201, "POST", "/v1/conversations/"+bare["id"].(string)+"/fork", `{}`)
	for _, id := range []string{bare["id"].(string), fork["id"].(string)} {
		if got := tenant.json(200, "GET", "/v1/conversations/"+id, ""); got["workspace"] != false {
			t.Errorf("the conversation is %v", got)
		}
		if res := tenant.ask("PUT", "/v1/conversations/"+id+"/files/content?path=x", "text"); res.StatusCode != 403 {
			t.Errorf("a file is stored: %d", res.StatusCode)
		}
		body := tenant.json(200, "POST", "/v1/conversations/"+id+"/runs", `{"user_input":"go"}`, "Accept", "application/json")
		if strings.Contains(body["result"].(string), "exit code") {
			t.Errorf("a command ran: %v", body)
		}
	}
	// Without workspaces there is nothing to work on.
	s.json(200, "PATCH", "/v1/admin/tenants/acme", `{"policy":{"shell":true,"workspaces":"off"}}`)
	conv := tenant.json(201, "POST", "/v1/conversations", `{"agent":"builder"}`)["id"].(string)
	for _, path := range []string{"/files", "/files/content?path=x", "/files/archive"} {
		if res := tenant.ask("GET", "/v1/conversations/"+conv+path, ""); res.StatusCode != 403 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if res := tenant.ask("PUT", "/v1/conversations/"+conv+"/files/content?path=x", "text"); res.StatusCode != 403 {
		t.Errorf("a file is stored: %d", res.StatusCode)
	}
	body := tenant.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"go"}`, "Accept", "application/json")
	if strings.Contains(body["result"].(string), "exit code") {
		t.Errorf("a command ran: %v", body)
	}
	if res := s.ask("PATCH", "/v1/admin/tenants/acme", `{"policy":{"workspaces":"perhaps"}}`); res.StatusCode != 422 {
		t.Errorf("a wrong choice gives %d", res.StatusCode)
	}
}
