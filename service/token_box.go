package service

import (
	"sync"

	"github.com/braidrun/braid/secret"
)

// tokenBox holds the tokens of open runs.
type tokenBox struct {
	mu   sync.Mutex
	runs map[string]runTokens
}

// runTokens are the tokens of a run.
type runTokens struct {
	values map[string]secret.Secret
	// shown are the names of the tokens that are not secret.
	shown []string
}

func (b *tokenBox) put(run string, tokens runTokens) {
	if len(tokens.values) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs = make(map[string]runTokens)
	}
	b.runs[run] = tokens
}

func (b *tokenBox) get(run string) runTokens {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[run]
}

func (b *tokenBox) drop(run string) {
	b.mu.Lock()
	delete(b.runs, run)
	b.mu.Unlock()
}
