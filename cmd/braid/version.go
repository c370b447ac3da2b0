package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
)

// build describes the binary.
type build struct {
	// Version is the version of the module, "(devel)" for a build from a checkout.
	Version string `json:"version"`
	// Commit and Time are those of the source; Modified is set if the checkout had changes.
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns one line for users.
func (b build) String() string {
	s := "braid " + b.Version
	if b.Commit != "" {
		s += " commit " + b.Commit[:min(len(b.Commit), 12)]
		if b.Modified {
			s += " (changed since)"
		}
	}
	return s + " " + b.Go + " " + b.Platform
}

func versionCommand(p *process) conf.Command {
	return conf.Command{
		Name: "version", Short: "say which build this is",
		Examples: []conf.Example{{Line: "braid version --json", Says: "the same for programs"}},
		Flags:    []conf.Flag{{Name: "json", Help: "write one JSON object"}},
		Run: func(_ context.Context, in *conf.Invocation) error {
			if err := in.NoArguments(); err != nil {
				return err
			}
			b := readBuild()
			if !in.On("json") {
				return p.Print(b.String() + "\n")
			}
			line, err := json.Marshal(b)
			if err != nil {
				return err
			}
			return p.Print(fmt.Sprintf("%s\n", line))
		},
	}
}
