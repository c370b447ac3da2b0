package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
)

func doctorCommand(p *process) conf.Command {
	return conf.Command{
		Name: "doctor", Short: "check what is set up, what is broken and what to do next",
		About: `Every problem names the next step. Keys are named, never shown. With the options and
variables of braid serve the doctor also checks its database (schema, rights,
connections, clock), its key file, the credentials of its models, its MCP servers and
those of its tenants, and changes none of them. It connects to these servers and sends
no other requests beyond this machine. The exit
code is 0 unless something is broken; then it is the code of the first broken thing.`,
		Examples: []conf.Example{
			{Line: "braid doctor", Says: "look at everything"},
			{Line: "braid doctor --model demo:./mine.yaml", Says: "would this model work?"},
			{Line: "braid doctor --agents team.yaml", Says: "would braid run --agents work with this file?"},
			{Line: `braid doctor --postgres env --mcp mcp.json`, Says: "would braid serve work with these?"},
			{Line: `braid doctor --json | jq '.findings[] | select(.level!="ok")'`, Says: "for programs"},
		},
		Options: true,
		Flags: append(append(append(postgresFlags(), connectionFlag), []conf.Flag{
			{Name: "secrets", Value: "FILE", Help: "file with the keys that encrypt providers' keys (" + secretsEnv + ")"},
			{Name: "agents", Value: "FILE", Help: "file with agents to check, as braid run --agents reads it"},
			{Name: "json", Help: "write one JSON object"},
		}...), tenantServerFlags...),
		Run: func(ctx context.Context, in *conf.Invocation) error { return doctor(ctx, p, in) },
	}
}

// level is the severity of a finding.
type level string

const (
	levelOK      level = "ok"
	levelNote    level = "note"
	levelWarning level = "warning"
	levelBroken  level = "broken"
)

// finding is the result of a check.
type finding struct {
	Check string `json:"check"`
	Level level  `json:"level"`
	Text  string `json:"text"`
	// Next is the next step; it is empty only if nothing is wrong.
	Next string `json:"next,omitempty"`
	// Kind is set with levelBroken and determines the exit code.
	Kind event.ErrorKind `json:"kind,omitempty"`
}

// diagnosis is one run of the doctor.
type diagnosis struct {
	p    *process
	in   *conf.Invocation
	cfg  *conf.Config
	errs []error
	// service is the service's database while its checks run.
	service *database.DB
	// check is the current check.
	check    string
	findings []finding
}

func (d *diagnosis) ok(format string, args ...any) {
	d.findings = append(d.findings, finding{Check: d.check, Level: levelOK, Text: fmt.Sprintf(format, args...)})
}

func (d *diagnosis) note(next, format string, args ...any) {
	d.findings = append(d.findings, finding{Check: d.check, Level: levelNote, Text: fmt.Sprintf(format, args...), Next: next})
}

func (d *diagnosis) warn(next, format string, args ...any) {
	d.findings = append(d.findings, finding{Check: d.check, Level: levelWarning, Text: fmt.Sprintf(format, args...), Next: next})
}

func (d *diagnosis) broken(kind event.ErrorKind, next, format string, args ...any) {
	d.findings = append(d.findings, finding{Check: d.check, Level: levelBroken, Text: fmt.Sprintf(format, args...), Next: next, Kind: kind})
}

// brokenBy reports an error; fallback is the next step if the error has no hint.
func (d *diagnosis) brokenBy(err error, fallback string) {
	message, hint := term.Describe(err)
	if hint == "" {
		hint = fallback
	}
	d.broken(term.KindOf(err), hint, "%s", message)
}

func doctor(ctx context.Context, p *process, in *conf.Invocation) error {
	if err := in.NoArguments(); err != nil {
		return err
	}
	d := &diagnosis{p: p, in: in}
	d.cfg, d.errs = p.ReadConfig(in.Options, in.Flags["config"])
	for _, c := range checks {
		d.check = c.name
		c.look(ctx, d)
	}
	var worst *finding
	for i := range d.findings {
		if d.findings[i].Level == levelBroken {
			worst = &d.findings[i]
			break
		}
	}
	if err := p.printFindings(d, in.On("json")); err != nil {
		return err
	}
	if worst == nil {
		return nil
	}
	return term.Shown{Err: &event.Error{Kind: worst.Kind, Message: worst.Text, Hint: worst.Next}}
}

func (p *process) printFindings(d *diagnosis, asJSON bool) error {
	count := map[level]int{}
	for i := range d.findings {
		f := &d.findings[i]
		f.Text, f.Next = term.Redact(term.CleanLine(f.Text)), term.Redact(term.CleanLine(f.Next))
		count[f.Level]++
	}
	if asJSON {
		line, err := json.Marshal(struct {
			Broken   int       `json:"broken"`
			Warnings int       `json:"warnings"`
			Findings []finding `json:"findings"`
		}{count[levelBroken], count[levelWarning], d.findings})
		if err != nil {
			return err
		}
		return p.Print(string(line) + "\n")
	}
	s := p.NewScreen(p.Stdout, d.cfg.Color)
	styles := map[level]term.Style{levelOK: term.Green, levelNote: term.Cyan, levelWarning: term.Yellow, levelBroken: term.BoldRed}
	var b []byte
	for _, f := range d.findings {
		b = s.Paint(b, styles[f.Level], fmt.Sprintf("%-8s", f.Level))
		b = fmt.Appendf(b, " %-9s %s\n", f.Check, f.Text)
		if f.Next != "" {
			for i, line := range term.Wrap(f.Next, 76) {
				lead := "next: "
				if i > 0 {
					lead = "      "
				}
				b = fmt.Appendf(b, "%19s%s%s\n", "", lead, line)
			}
		}
	}
	var words []string
	for _, l := range []level{levelBroken, levelWarning} {
		switch n := count[l]; {
		case l == levelWarning && n == 1:
			words = append(words, "1 warning")
		case l == levelWarning && n > 1:
			words = append(words, fmt.Sprintf("%d warnings", n))
		case n > 0:
			words = append(words, fmt.Sprintf("%d broken", n))
		}
	}
	if len(words) == 0 {
		words = []string{"nothing is broken"}
	}
	b = fmt.Appendf(b, "\n%s\n", strings.Join(words, ", "))
	return p.Print(string(b))
}
