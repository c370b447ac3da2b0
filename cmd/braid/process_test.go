package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/models"
)

// testProcess has only the environment that a test gives it.
func testProcess(t *testing.T, env map[string]string, args ...string) (*process, *strings.Builder, *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	var out, errs strings.Builder
	p := &process{
		System: conf.System{
			Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
			Getenv: func(name string) string { return env[name] },
			Environ: func() (list []string) {
				for k, v := range env {
					list = append(list, k+"="+v)
				}
				return list
			},
			Now:       func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) },
			ConfigDir: func() (string, error) { return dir, nil },
			DataDir:   func() (string, error) { return filepath.Join(dir, "data"), nil },
		},
		freeSpace:    func(string) (uint64, error) { return 1 << 40, nil },
		openRef:      openTestModel,
		localServers: func(context.Context) []models.Server { return nil },
	}
	return p, &out, &errs
}

func writeConfig(t *testing.T, p *process, text string) string {
	t.Helper()
	dir, err := p.ConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "braid", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
