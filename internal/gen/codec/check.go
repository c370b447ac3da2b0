package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// check reports declarations that the generator has no code for.
func (p *pkg) check() error {
	if len(p.bodies) == 0 {
		return errors.New("no bodies are declared")
	}
	for _, o := range slices.Concat(p.bodies, p.blocks, p.parts) {
		for _, f := range o.fields {
			if err := p.checkField(o, f); err != nil {
				return fmt.Errorf("%s.%s: %w", o.name, f.name, err)
			}
		}
	}
	return nil
}

func (p *pkg) checkField(o *object, f field) error {
	form, ok := p.formOf(f.typ)
	switch part := p.part(f.typ); {
	case f.key == "":
		return errors.New(`needs a line and a tag json:"…" of its own`)
	case !ok && part == nil:
		return fmt.Errorf("no form for type %s", f.typ)
	case ok && form.put(f) == "":
		return fmt.Errorf("no encoder for type %s, with or without omitempty", f.typ)
	case !ok && strings.HasPrefix(f.typ, "[]") && !f.opt:
		return fmt.Errorf("a list needs omitempty: %s", f.typ)
	case slices.Contains(p.durable, o) && mustSay[f.typ] && f.redacted == "":
		return errors.New(`needs a tag redacted:"…": what does a redaction do to it?`)
	}
	if _, ok := p.instead(f); !ok {
		return fmt.Errorf("no way to redact type %s with %q", f.typ, f.redacted)
	}
	return nil
}
