package service

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/secret"
)

// secrets returns the tokens that must be hidden.
func (x *ExecutionContext) secrets() map[string]secret.Secret {
	if len(x.Shown) == 0 {
		return x.Tokens
	}
	list := make(map[string]secret.Secret, len(x.Tokens))
	for name, value := range x.Tokens {
		if !slices.Contains(x.Shown, name) {
			list[name] = value
		}
	}
	return list
}

// hide masks the run's tokens in a title, which may have been cut inside one.
func (x *ExecutionContext) hide(title string) string {
	if len(x.Tokens) == 0 {
		return title
	}
	var list []secret.Secret
	for _, s := range x.secrets() {
		list = append(list, s)
	}
	words, cut := strings.CutSuffix(title, "…")
	if words = secret.NewMask(list...).Hide(words); cut {
		words += "…"
	}
	return words
}
