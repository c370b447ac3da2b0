//go:build peers

package agentcorepeer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// braid is the built command.
var braid string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "braid-peers-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	braid = filepath.Join(dir, "braid")
	build := exec.Command("go", "build", "-o", braid, "../../../cmd/braid")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		_ = os.RemoveAll(dir)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// modules is the folder that npm installed into.
func modules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BRAID_PEERS_AGENTCORE")
	if dir == "" {
		t.Skip("BRAID_PEERS_AGENTCORE is not set: run scripts/test-peers agentcore")
	}
	return filepath.Join(dir, "node_modules")
}

// node runs one of the scripts and reads the JSON that it prints.
func node(t *testing.T, into any, script string, args ...string) {
	t.Helper()
	dir := modules(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".bin", "node"), append([]string{"node/" + script, dir}, args...)...)
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", script, err, &errs, &out)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", script, err, &errs, &out)
	}
}

// site is a braid serve --agentcore that is up.
type site struct {
	url, page, token, arn, key, secret string
}

// serve starts one with the script of the peers, played in real time. A run that was left ends soon, as its script would.
func serve(t *testing.T) *site {
	t.Helper()
	home := t.TempDir()
	data := filepath.Join(home, "data")
	script, err := filepath.Abs("testdata/peer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(braid, "serve", "--agentcore", "--agentcore-grace", "1s", "--addr", "127.0.0.1:0", "--data", data, "--model", "demo:"+script+"?speed=1")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home}
	cmd.WaitDelay = 5 * time.Second
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	said := make([]byte, 0, 4096)
	for !bytes.Contains(said, []byte("  next ")) {
		n, err := out.Read(said[len(said):cap(said)])
		if said = said[:len(said)+n]; err != nil {
			t.Fatalf("the server ends: %v\n%s\n%s", err, said, &log)
		}
	}
	find := func(in []byte, pattern string) string {
		m := regexp.MustCompile(pattern).FindSubmatch(in)
		if m == nil {
			t.Fatalf("%s is not in %s", pattern, in)
		}
		return string(m[1])
	}
	keys, err := os.ReadFile(find(said, `(?m)^  keys   (.*)$`))
	if err != nil {
		t.Fatal(err)
	}
	return &site{
		url: find(said, `serves on (\S+)`), page: find(said, `(?m)^  page   (.*)$`), token: find(said, `(?m)^  token  (.*)$`),
		arn: find(said, `(?m)^  arn    (.*)$`), key: find(keys, `aws_access_key_id = (.*)`), secret: find(keys, `aws_secret_access_key = (.*)`),
	}
}

// get asks the native API beside the doors.
func (s *site) get(t *testing.T, path string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(body, into) != nil {
		t.Fatalf("%s: %s %v %s", path, res.Status, err, body)
	}
}

// runs lists how the runs ended that one session's prompts began, by what the log says.
func (s *site) runs(t *testing.T) map[string]int {
	t.Helper()
	var conversations struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	s.get(t, "/v1/conversations?limit=100", &conversations)
	ended := map[string]int{}
	for _, c := range conversations.Data {
		var runs struct {
			Data []struct {
				Status string `json:"status"`
			} `json:"data"`
		}
		s.get(t, "/v1/conversations/"+c.ID+"/runs", &runs)
		for _, r := range runs.Data {
			ended[r.Status]++
		}
	}
	return ended
}

// freePort gives a port of this machine that nobody has now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatal(what)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func joined(lines []string) string { return strings.Join(lines, "\n") }
