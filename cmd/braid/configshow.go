package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

func configCommand(p *process) command {
	return command{
		name: "config", short: "show the configuration in force and where it comes from",
		about: "What looks like a secret is shown as [redacted].",
		examples: []example{
			{"braid config", "every option, its value and its source"},
			{"BRAID_TRACE=1 braid config --json", "the same for programs"},
		},
		options: true,
		flags:   []flagSpec{{name: "json", help: "write one JSON object"}},
		run: func(_ context.Context, in *invocation) error {
			if err := in.noArguments(); err != nil {
				return err
			}
			cfg, err := p.configOf(in)
			if err != nil {
				return err
			}
			if in.on("json") {
				return p.printConfigJSON(cfg)
			}
			return p.print(configText(cfg))
		},
	}
}

// setting is one option as `braid config` shows it.
type setting struct {
	Option string `json:"option"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func settingsOf(c *config) []setting {
	list := make([]setting, len(options))
	for i := range options {
		v := c.values[options[i].name]
		text := redact(v.text)
		if options[i].hidden && text != "" {
			text = "[redacted]"
		}
		list[i] = setting{options[i].name, text, v.source}
	}
	return list
}

func configText(c *config) string {
	var b strings.Builder
	switch {
	case c.found:
		fmt.Fprintf(&b, "file: %s\n\n", cleanLine(c.file))
	case c.file != "":
		fmt.Fprintf(&b, "file: %s (not there; it is optional)\n\n", cleanLine(c.file))
	default:
		b.WriteString("file: none\n\n")
	}
	list := settingsOf(c)
	wide := 0
	for _, s := range list {
		wide = max(wide, min(textWidth(cleanLine(s.Value)), 32))
	}
	for _, s := range list {
		text := fit(cleanLine(s.Value), 48)
		pad := strings.Repeat(" ", max(wide-textWidth(text), 0))
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-17s %s%s  %s", s.Option, text, pad, s.Source), " ") + "\n")
	}
	return b.String()
}

func (p *process) printConfigJSON(c *config) error {
	line, err := json.Marshal(struct {
		File    string    `json:"file,omitempty"`
		Found   bool      `json:"found"`
		Options []setting `json:"options"`
	}{c.file, c.found, settingsOf(c)})
	if err != nil {
		return err
	}
	return p.print(string(cleanJSON(nil, line)) + "\n")
}
