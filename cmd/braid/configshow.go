package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
)

func configCommand(p *process) conf.Command {
	return conf.Command{
		Name: "config", Short: "show the configuration in force and where it comes from",
		About: "Possible secrets are shown as [redacted].",
		Examples: []conf.Example{
			{Line: "braid config", Says: "every option, its value and its source"},
			{Line: "BRAID_TRACE=1 braid config --json", Says: "the same for programs"},
		},
		Options: true,
		Flags:   []conf.Flag{{Name: "json", Help: "write one JSON object"}},
		Run: func(_ context.Context, in *conf.Invocation) error {
			if err := in.NoArguments(); err != nil {
				return err
			}
			cfg, err := p.Config(in)
			if err != nil {
				return err
			}
			if in.On("json") {
				return p.printConfigJSON(cfg)
			}
			return p.Print(configText(cfg))
		},
	}
}

// setting is one option as `braid config` shows it.
type setting struct {
	Option string `json:"option"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func settingsOf(c *conf.Config) []setting {
	list := make([]setting, len(conf.Options))
	for i := range conf.Options {
		v := c.Values[conf.Options[i].Name]
		text := term.Redact(v.Text)
		if conf.Options[i].Hidden && text != "" {
			text = "[redacted]"
		}
		list[i] = setting{conf.Options[i].Name, text, v.Source}
	}
	return list
}

func configText(c *conf.Config) string {
	var b strings.Builder
	switch {
	case c.Found:
		fmt.Fprintf(&b, "file: %s\n\n", term.CleanLine(c.File))
	case c.File != "":
		fmt.Fprintf(&b, "file: %s (not there; it is optional)\n\n", term.CleanLine(c.File))
	default:
		b.WriteString("file: none\n\n")
	}
	list := settingsOf(c)
	wide := 0
	for _, s := range list {
		wide = max(wide, min(term.Width(term.CleanLine(s.Value)), 32))
	}
	for _, s := range list {
		text := term.Fit(term.CleanLine(s.Value), 48)
		pad := strings.Repeat(" ", max(wide-term.Width(text), 0))
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-17s %s%s  %s", s.Option, text, pad, s.Source), " ") + "\n")
	}
	return b.String()
}

func (p *process) printConfigJSON(c *conf.Config) error {
	line, err := json.Marshal(struct {
		File    string    `json:"file,omitempty"`
		Found   bool      `json:"found"`
		Options []setting `json:"options"`
	}{c.File, c.Found, settingsOf(c)})
	if err != nil {
		return err
	}
	return p.Print(string(term.CleanJSON(nil, line)) + "\n")
}
