package braid

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// gauge is how much of a model's context a transcript takes, as far as it is known.
type gauge struct {
	// tokens is what a provider has counted for its newest answer and all that stands before
	// it, which are the first messages; 0 where nobody has counted.
	tokens   int64
	messages int
	// guess is an estimate of the first messages where nobody has counted. It is only kept so
	// that a message is weighed once; the fold knows nothing of it.
	guess   int64
	guessed int
}

// count takes in what a provider says of an answer behind which so many messages stand. One that has
// summed the conversation up counts that call, too, so that the rest is estimated.
func (g *gauge) count(u event.Usage, content []event.Block, messages int) {
	if compactedBy(content) {
		*g = gauge{}
		return
	}
	n := u.Input + u.CacheRead + u.CacheWrite + u.Output
	if n <= 0 {
		return
	}
	g.tokens, g.messages = n, messages
}

// projected estimates how many tokens the scope's next model call has.
func (s *Scope) projected(a *Agent) int64 {
	g, msgs := &s.gauge, s.talk.msgs
	if g.tokens > 0 && g.messages <= len(msgs) {
		return g.tokens + model.MessagesTokens(msgs[g.messages:])
	}
	if g.guessed > len(msgs) {
		g.guess, g.guessed = 0, 0
	}
	if g.guessed == 0 {
		g.guessed = compactedBefore(msgs)
	}
	// The last message may still grow.
	if n := len(msgs) - 1; n > g.guessed {
		g.guess += model.MessagesTokens(msgs[g.guessed:n])
		g.guessed = n
	}
	return g.guess + model.MessagesTokens(msgs[g.guessed:]) + a.toldTokens()
}

// toldTokens estimates what stands before the messages of each call.
func (a *Agent) toldTokens() int64 {
	n := model.TextTokens(a.instructions)
	specs := a.current().specs
	for i := range specs {
		n += specs[i].Tokens()
	}
	return n
}
