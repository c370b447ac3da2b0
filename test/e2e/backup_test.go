package e2e

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A folder is copied while a server works in it. What the copy lists it has, and it can be served.
func TestABackupOfAServerAtWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir)
	stop := make(chan struct{})
	var people sync.WaitGroup
	for range 2 {
		people.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if id := s.begin(); id != "" {
					_ = s.run(id, "what is 2+3?")
				}
			}
		})
	}
	env := environment(t)
	tell := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(braid, args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("braid %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	last := ""
	for _, name := range []string{"one", "two"} {
		last = filepath.Join(t.TempDir(), name)
		tell("backup", "--data", dir, last)
	}
	close(stop)
	people.Wait()
	for line := range strings.Lines(tell("conversations", "--data", last, "--limit", "8", "--json")) {
		var c struct {
			ID     string `json:"id"`
			Events int    `json:"events"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(tell("show", "--data", last, "--json", c.ID), "\n"); n != c.Events {
			t.Errorf("%s has %d events and %d are there", c.ID, c.Events, n)
		}
	}
	copied := startServer(t, last)
	if copied.token == s.token {
		t.Error("the copy has the token, too")
	}
	list, _ := copied.json(http.StatusOK, "GET", "/v1/conversations?limit=100", "")["data"].([]any)
	if len(list) == 0 {
		t.Error("the copy's server lists nothing")
	}
	for _, c := range list[:min(3, len(list))] {
		id, _ := c.(map[string]any)["id"].(string)
		if status := copied.run(id, "what is 4+5?"); status != http.StatusOK {
			t.Errorf("a run in the copy is answered with %d", status)
		}
	}
	cmd := exec.Command(braid, "backup", "--data", dir, last)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "replaces nothing") {
		t.Errorf("over a backup: %v, %s", err, out)
	}
}

// begin begins a conversation; "" where that fails, which is told.
func (s *site) begin() string {
	var c struct {
		ID string `json:"id"`
	}
	s.send("/v1/conversations", "{}", &c)
	return c.ID
}

// run runs to the end, and gives the status of the answer.
func (s *site) run(id, input string) int {
	body, err := json.Marshal(map[string]string{"user_input": input})
	if err != nil {
		s.t.Error(err)
	}
	return s.send("/v1/conversations/"+id+"/runs", string(body), nil)
}

// send is for goroutines beside the test's own.
func (s *site) send(path, body string, into any) int {
	req, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return 0
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + s.token, "Content-Type": "application/json", "Accept": "application/json",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return 0
	}
	defer res.Body.Close()
	if into != nil {
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			s.t.Error(err)
		}
	}
	return res.StatusCode
}
