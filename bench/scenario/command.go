package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Command returns the arguments with which the built command serves the side, on a free port and
// with a data folder below the side's folder. It writes the script of the demo model there. What the
// arguments do not name is the command's default: the request log, titles, tools and SQLite at
// FULL. The limits are raised only as far as the load needs.
func (s *Served) Command() ([]string, error) {
	if s.Side != SideServe {
		return nil, errors.New("only the side " + SideServe + " is a command")
	}
	var text strings.Builder
	for i := range s.Deltas {
		text.WriteString(words[i%len(words)])
	}
	script := filepath.Join(s.Folder, "load.yaml")
	if err := os.WriteFile(script, []byte("rules:\n  - reply:\n      - text: \""+text.String()+"\"\n"), 0o600); err != nil {
		return nil, err
	}
	model := "demo:" + filepath.ToSlash(script)
	switch {
	case s.Stall:
		model += "?fault=stall&after=1"
	case s.Every > 0:
		model += "?speed=1&rate=" + strconv.FormatFloat(float64(time.Second)/float64(s.Every), 'f', -1, 64)
	}
	return []string{
		"serve", "--addr", "127.0.0.1:0", "--data", s.DataFolder(), "--model", model, "--log", "json",
		"--running", "10000", "--tenant-running", "10000", "--tenant-requests", "1000000",
	}, nil
}

// DataFolder is the command's data folder.
func (s *Served) DataFolder() string { return filepath.Join(s.Folder, "data") }

// TokenFile is where the command keeps the token that it asks for.
func (s *Served) TokenFile() string { return filepath.Join(s.DataFolder(), "token") }
