package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// said is what a command has said and how it has ended.
type said struct {
	out, errs string
	exit      int
}

// tell runs the command to its end.
func tell(t *testing.T, env []string, args ...string) said {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // a server that starts although it must not
	defer stop()
	cmd := exec.CommandContext(ctx, braid, args...)
	cmd.Env, cmd.WaitDelay = append(environment(t), env...), 5*time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code says it
	return said{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// tells has the clients of the command talk to the server: one that runs, and one that administers.
func (s *site) tells(env ...string) {
	s.t.Helper()
	env = append(env, "BRAID_TOKEN="+s.token)
	if a := tell(s.t, env, "run", "-q", "--server", s.url, "What is 6 times 7?"); a.exit != 0 || a.out != "The result of 6 * 7 is 42.\n" {
		s.t.Errorf("braid run --server %s: %+v", s.url, a)
	}
	if a := tell(s.t, env, "admin", "tenant", "list", "--server", s.url); a.exit != 0 || !strings.HasPrefix(a.out, "default\t") {
		s.t.Errorf("braid admin --server %s: %+v", s.url, a)
	}
}

// serveRefuses starts servers that must not start, and looks at what they say of it.
func serveRefuses(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := tell(t, nil, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"), "--log", "none"}, c.args...)...)
			if a.exit != c.exit || !strings.Contains(a.errs, c.says) || !strings.Contains(a.errs, "next:") || a.out != "" {
				t.Errorf("want exit %d and %q: %+v", c.exit, c.says, a)
			}
			if c.dir != "" && strings.Contains(a.errs, c.dir) {
				t.Errorf("a path is told: %s", a.errs)
			}
		})
	}
}

// refusal is a server that must not start: the exit code is that of the error's kind. dir must
// not be told.
type refusal struct {
	args []string
	exit int
	says string
	dir  string
}
