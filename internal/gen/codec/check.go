package main

import (
	"errors"
	"fmt"
	"slices"
)

// check reports declarations that the generator has no code for.
func (p *pkg) check() error {
	if len(p.Bodies) == 0 {
		return errors.New("no bodies are declared")
	}
	for _, o := range slices.Concat(p.Bodies, p.Blocks, p.Parts) {
		for _, f := range o.Fields {
			if err := f.check(); err != nil {
				return fmt.Errorf("%s.%s: %w", o.Name, f.Name, err)
			}
			if slices.Contains(p.Durable, o) && mustSay[f.typ] && f.redacted == "" {
				return fmt.Errorf(`%s.%s: needs a tag redacted:"…": what does a redaction do to it?`, o.Name, f.Name)
			}
		}
	}
	return nil
}

func (f field) check() error {
	switch {
	case f.Key == "":
		return errors.New(`needs a line and a tag json:"…" of its own`)
	case f.Part == nil && f.form == (form{}):
		return fmt.Errorf("no form for type %s", f.typ)
	case f.Part == nil && f.Put() == "":
		return fmt.Errorf("no encoder for type %s, with or without omitempty", f.typ)
	case f.Part != nil && f.IsList() && !f.Opt:
		return fmt.Errorf("a list needs omitempty: %s", f.typ)
	case f.isHidden() && f.Instead() == "":
		return fmt.Errorf("no way to redact type %s with %q", f.typ, f.redacted)
	}
	return nil
}
