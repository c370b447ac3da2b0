package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
)

// greeting starts and ends a server on a folder, and returns its output and its log.
func greeting(t *testing.T, data string, args ...string) (printed, log string) {
	t.Helper()
	p, _, _ := testProcess(t, nil, append([]string{"serve", "--data", data, "--titles", "words", "--log", "json"}, args...)...)
	r, w := io.Pipe()
	errs := &lockedBuffer{}
	p.Stdout, p.Stderr = w, errs
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan int, 1)
	go func() {
		code := p.run(ctx)
		_ = w.Close()
		done <- code
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		printed += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "  next") {
			stop()
		}
	}
	if code := <-done; code != 0 {
		t.Fatalf("it ends with %d: %s", code, errs)
	}
	return printed, errs.String()
}

// Only the server that creates the operator's token prints it, because service managers keep output.
func TestWhoPrintsTheToken(t *testing.T) {
	t.Parallel()
	for _, door := range [][]string{nil, {"--agentcore"}} {
		data := filepath.Join(t.TempDir(), "data")
		args := append([]string{"--addr", "127.0.0.1:0"}, door...)
		first, _ := greeting(t, data, args...)
		kept, err := os.ReadFile(filepath.Join(data, conf.TokenFile))
		if err != nil {
			t.Fatal(err)
		}
		token := strings.TrimSpace(string(kept))
		want := 1 + len(door) // the page's URL also has it
		if n := strings.Count(first, token); n != want || len(token) < 20 {
			t.Errorf("%v: the first server prints the token %d times: %s", door, n, first)
		}
		again, log := greeting(t, data, args...)
		if strings.Contains(again+log, token) || !strings.Contains(again, "  token  in "+filepath.Join(data, conf.TokenFile)) || strings.Contains(again, "#token=") {
			t.Errorf("%v: the second server prints %s", door, again)
		}
		const own = "an-operator's-own-token-0123456789"
		file := filepath.Join(t.TempDir(), "own")
		if err := os.WriteFile(file, []byte(own+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		named, log := greeting(t, filepath.Join(t.TempDir(), "other"), append(args, "--token-file", file)...)
		if strings.Contains(named+log, own) || !strings.Contains(named, "  token  in "+file) || strings.Contains(named, "#token=") {
			t.Errorf("%v: a server with a token of its operator's prints %s", door, named)
		}
	}
}

// If other machines can reach the server without TLS, the log warns that tokens are sent in clear.
func TestAServerInClear(t *testing.T) {
	t.Parallel()
	for addr, warns := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true, "[::]:0": true} {
		_, log := greeting(t, filepath.Join(t.TempDir(), "data"), "--addr", addr)
		if strings.Contains(log, "go in clear") != warns {
			t.Errorf("%s: the log says %s", addr, log)
		}
	}
	cert, key := filepath.Join(t.TempDir(), "c.pem"), filepath.Join(t.TempDir(), "k.pem")
	certify(t, cert, key, "localhost")
	if _, log := greeting(t, filepath.Join(t.TempDir(), "data"), "--addr", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key); strings.Contains(log, "in clear") {
		t.Errorf("with TLS the log says %s", log)
	}
}

// Keys are not written through a link in their place.
func TestKeysAndLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{conf.TokenFile, awsKeysFile} {
		dir := t.TempDir()
		target := filepath.Join(dir, "elsewhere")
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("there are no links here: ", err)
		}
		var err error
		if name == conf.TokenFile {
			_, _, err = keepToken(filepath.Join(dir, name))
		} else {
			_, err = keepAWSKeys(filepath.Join(dir, name))
		}
		if _, there := os.Stat(target); err == nil || there == nil {
			t.Errorf("%s is written through a link: %v", name, err)
		}
	}
}

// The guide's command line gives skills to a server's agents.
func TestServeTakesSkills(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	folder := skillsFolder(t)
	if err := os.MkdirAll(filepath.Join(folder, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "broken", "SKILL.md"), []byte("no head"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, log := greeting(t, data, "--addr", "127.0.0.1:0", "--skills", folder); !strings.Contains(log, "broken") {
		t.Errorf("the folder is not looked into: %s", log)
	}
}
