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
func (s *scope) projected(a *Agent) int64 {
	g, msgs := &s.gauge, s.talk.msgs
	if g.tokens > 0 && g.messages <= len(msgs) {
		return g.tokens + model.MessagesTokens(msgs[g.messages:])
	}
	return model.MessagesTokens(msgs[compactedBefore(msgs):]) + a.toldTokens()
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
