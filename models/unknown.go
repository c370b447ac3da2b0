package models

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/model/demo"
)

// unknown returns the error for an unknown reference.
func unknown(ref string) error {
	e := &event.Error{Op: op, Kind: event.ErrModelNotFound, Message: "there is no such model", Hint: have()}
	if shown := presentable(ref); shown != "" {
		e.Message = "there is no model \"" + shown + "\""
		if s := suggest(ref); s != "" {
			e.Hint = "did you mean " + s + "? " + e.Hint
		}
	}
	return e
}

// suggest returns what an unknown reference probably meant; "" if nothing is similar.
func suggest(ref string) string {
	lower := strings.ToLower(ref)
	for _, p := range providers() {
		for _, family := range p.families {
			if strings.HasPrefix(lower, family) {
				return p.name + ":" + ref
			}
		}
	}
	name, rest, colon := strings.Cut(lower, ":")
	words := make([]string, 0, 16)
	for _, p := range providers() {
		words = append(words, p.name)
	}
	if s := nearest.Word(name, words); s != "" {
		if colon && rest != "" {
			s += ":" + rest
		}
		return s
	}
	for _, n := range Names() {
		if _, script, ok := strings.Cut(n, ":"); ok && nearest.Word(lower, []string{script}) != "" {
			return n
		}
	}
	return ""
}

// Names lists the names that [Open] accepts in this build: each provider, and each model of the
// providers with a fixed list.
func Names() []string {
	names := []string{"demo"}
	for _, s := range demo.Scripts() {
		names = append(names, "demo:"+s)
	}
	return append(names, "anthropic", "openai", "gemini", "bedrock")
}

func have() string {
	vendors := DefaultVendors().rows
	named := make([]string, len(vendors))
	for i := range vendors {
		named[i] = vendors[i].Name
	}
	return "this build has " + strings.Join(Names(), ", ") + "; ollama:NAME for a model of this machine's Ollama; and NAMEs of models at " +
		strings.Join(named, ", ")
}
