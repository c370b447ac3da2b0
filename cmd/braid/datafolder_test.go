package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
)

// A server does not start with only some of its files, or if others could have replaced them. It reports what
// is wrong, and creates nothing.
func TestServerRefusesHalves(t *testing.T) {
	t.Parallel()
	remove := func(names ...string) func(t *testing.T, data string) {
		return func(t *testing.T, data string) {
			t.Helper()
			for _, name := range names {
				if err := os.Remove(filepath.Join(data, name)); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
		}
	}
	try := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, data string)
		says string // "" if it starts
		not  string // a file that must not be created
	}{
		"whole":      {func(*testing.T, string) {}, "", ""},
		"no keys":    {remove(secretsFile), "another key file", secretsFile},
		"no journal": {remove(journalFile, journalFile+"-wal", journalFile+"-shm"), "is missing or empty", journalFile},
		"empty journal": {func(t *testing.T, data string) {
			remove(journalFile+"-wal", journalFile+"-shm")(t, data)
			try(t, os.Truncate(filepath.Join(data, journalFile), 0))
		}, "is missing or empty", ""},
		"other keys": {func(t *testing.T, data string) {
			remove(secretsFile)(t, data)
			p, _, _ := testProcess(t, nil, "secrets", "new", filepath.Join(data, secretsFile))
			if code := p.run(t.Context()); code != 0 {
				t.Fatal(code)
			}
		}, "another key file", ""},
		"folder of all": {func(t *testing.T, data string) { try(t, os.Chmod(data, 0o777)) }, "every user of this machine", ""},
		"dangling token": {func(t *testing.T, data string) {
			remove(conf.TokenFile)(t, data)
			try(t, os.Symlink(filepath.Join(filepath.Dir(data), "elsewhere"), filepath.Join(data, conf.TokenFile)))
		}, "token cannot be kept", "../elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			s := serveIn(t, data, nil, "--model", "demo", "--tools", "none")
			s.run("", s.conversation(""), "hi", "")
			s.must("", "POST", "/v1/admin/models", `{"id":"m","provider":"openai","name":"x","credential":{"secret":"sk-0123456789abcdef"}}`)
			if code := s.end(); code != 0 {
				t.Fatalf("exit %d: %s", code, s.log)
			}
			c.harm(t, data)
			again, code := tryServe(t, data, nil, "--model", "demo", "--tools", "none")
			if (again.url == "") != (c.says != "") || !strings.Contains(again.log.String(), c.says) {
				t.Errorf("exit %d, %q: %s", code, again.url, again.log)
			}
			if _, err := os.Lstat(filepath.Join(data, c.not)); c.not != "" && err == nil {
				t.Errorf("%s was made", c.not)
			}
		})
	}
}

// An unknown preferred skill is an error of the request, not of its route.
func TestUnknownPreferredSkill(t *testing.T) {
	t.Parallel()
	s := serveIn(t, filepath.Join(t.TempDir(), "data"), map[string]string{"BRAID_SKILLS": skillsFolder(t)}, "--model", "demo", "--tools", "none")
	body, err := json.Marshal(map[string]any{"user_input": "hi", "preferred_skills": []string{"no-such"}})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := s.ask("", "POST", "/v1/conversations/"+s.conversation("")+"/runs", string(body)); status != 422 {
		t.Errorf("%d %s", status, answer)
	}
}
