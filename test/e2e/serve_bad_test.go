package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A tool server whose command does not exist keeps nothing from working, and is told.
func TestServeWithAToolServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := filepath.Join(dir, "mcp.json")
	write(t, list, `{"mcpServers":{"ghost":{"command":"/nowhere/ghost-server","args":["--key","canary-argument"]}}}`)
	s := startServer(t, filepath.Join(dir, "data"), "--mcp", list)
	conv := s.json(201, "POST", "/v1/conversations", "")["id"].(string)
	stream, err := io.ReadAll(s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"What is 6 times 7?"}`).Body)
	if err != nil || !strings.Contains(string(stream), `"mcp_servers":[{"name":"ghost","status":"`) || !strings.Contains(string(stream), "42") {
		t.Errorf("%v: %s", err, stream)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if log := s.log.String(); !strings.Contains(log, "ghost") || strings.Contains(log, "canary") {
		t.Errorf("the log says\n%s", log)
	}
}

// What nobody but the person and the model is to read is in no log and no metrics.
func TestNothingIsTold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	conv := "/v1/conversations/" + s.json(201, "POST", "/v1/conversations", `{"title":"canary-title","metadata":{"a":"canary-label"}}`)["id"].(string)
	s.json(200, "POST", conv+"/runs", `{"user_input":"canary-input 6 times 7","executor":"canary-executor","tokens":{"canary-name":"canary-token"},
		"metadata":{"page":"canary-page"}}`, "Accept", "application/json", "Idempotency-Key", "canary-key")
	for _, c := range []struct {
		status             int
		method, path, body string
		headers            []string
	}{
		{400, "POST", conv + "/runs", `{"user_input":"canary-input","canary-field":1}`, nil},
		{400, "POST", conv + "/runs", `canary-body`, nil},
		{422, "POST", conv + "/runs", `{"user_input":"x","model":"demo:canary-model"}`, nil},
		{422, "POST", conv + "/runs", `{"user_input":"x","model":"anthropic:canary-model"}`, nil},
		{401, "GET", conv, "", []string{"Authorization", "Bearer canary-wrong"}},
		{404, "GET", "/v1/canary-path", "", nil},
		{400, "GET", "/v1/conversations?canary-query=1", "", nil},
		{403, "GET", conv, "", []string{"Origin", "https://canary.example"}},
		{405, "DELETE", "/v1/models", "", nil},
	} {
		s.json(c.status, c.method, c.path, c.body, c.headers...)
	}
	metrics, err := io.ReadAll(s.ask("GET", "/metrics", "").Body)
	if err != nil || strings.Contains(string(metrics), "canary") || strings.Contains(string(metrics), s.token) || strings.Contains(string(metrics), "conv_") {
		t.Errorf("%v: the metrics say\n%s", err, metrics)
	}
	events, err := io.ReadAll(s.ask("GET", conv+"/export", "").Body)
	if err != nil || strings.Contains(string(events), "canary-token") || !strings.Contains(string(events), "canary-input") {
		t.Errorf("%v: the events say\n%s", err, events)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wait()
	if log := s.log.String(); strings.Contains(log, "canary") || strings.Contains(log, s.token) || strings.Count(log, `"msg":"request"`) < 12 {
		t.Errorf("the log says\n%s", log)
	}
	// Nor does anything that is kept hold a run's token, or the server's but in its place.
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(data), "canary-token") || filepath.Base(path) != "token" && strings.Contains(string(data), s.token) {
			t.Errorf("%s holds a token", d.Name())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Each conversation has files of its own, and they go with it.
func TestFilesOfConversations(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	var ids []string
	for range 2 {
		id := s.json(201, "POST", "/v1/conversations", "")["id"].(string)
		ids = append(ids, id)
		stream, err := io.ReadAll(s.ask("POST", "/v1/conversations/"+id+"/runs", `{"user_input":"write milk to list.txt"}`).Body)
		if err != nil {
			t.Fatal(err)
		}
		// The folder's name also tells the tenant and when the conversation was made.
		files, err := filepath.Glob(filepath.Join(dir, "scratch", "*@"+id+"@*", "list.txt"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v %v:\n%s", files, err, stream)
		}
	}
	if res := s.ask("DELETE", "/v1/conversations/"+ids[0], ""); res.StatusCode != 204 {
		t.Fatal(res.Status)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "scratch", "*"+ids[0]+"*")); err != nil || len(left) != 0 {
		t.Errorf("the files are there: %v, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "scratch", "*"+ids[1]+"*")); err != nil || len(left) != 1 {
		t.Errorf("the other conversation's files are not: %v, %v", left, err)
	}
	show := exec.Command(braid, "conversations", "--data", dir)
	show.Env = environment(t)
	if out, err := show.CombinedOutput(); err != nil || strings.Contains(string(out), ids[0]) || !strings.Contains(string(out), ids[1]) {
		t.Errorf("%v: %s", err, out)
	}
}
