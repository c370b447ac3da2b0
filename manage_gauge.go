package braid

import (
	"unicode/utf8"

	"github.com/braidrun/braid/event"
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

// count takes in what a provider says of an answer behind which so many messages stand.
func (g *gauge) count(u event.Usage, messages int) {
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
		return g.tokens + messagesTokens(msgs[g.messages:])
	}
	if g.guessed > len(msgs) {
		g.guess, g.guessed = 0, 0
	}
	// The last message may still grow.
	if n := len(msgs) - 1; n > g.guessed {
		g.guess += messagesTokens(msgs[g.guessed:n])
		g.guessed = n
	}
	return g.guess + messagesTokens(msgs[g.guessed:]) + a.toldTokens()
}

// toldTokens estimates what stands before the messages of each call.
func (a *Agent) toldTokens() int64 {
	n := textTokens(a.instructions)
	specs := a.current().specs
	for i := range specs {
		n += specs[i].tokens()
	}
	return n
}

func messagesTokens(msgs []event.Message) int64 {
	n := int64(0)
	for i := range msgs {
		n += 4 + blocksTokens(msgs[i].Content)
	}
	return n
}

// What a picture and a page count for, about, with the providers that say so.
const (
	imageTokens    = 1600
	documentTokens = 3000
)

func blocksTokens(blocks []event.Block) int64 {
	n := int64(0)
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			n += textTokens(b.Text)
		case *event.Thinking:
			n += textTokens(b.Text)
		case *event.ToolCall:
			n += 8 + textTokens(b.Name) + int64(len(b.Args))/4
		case *event.ToolResult:
			n += 8 + blocksTokens(b.Content)
		case *event.Image:
			n += imageTokens
		case *event.Document:
			n += textTokens(b.Text)
			if len(b.Data) > 0 || b.URL != "" {
				n += documentTokens
			}
		case *event.UnknownBlock:
			n += int64(len(b.Raw)) / 4
		default:
			n += 100
		}
	}
	return n
}

// textTokens estimates what a text counts for: four letters make a token, and a letter
// beyond ASCII is one.
func textTokens(text string) int64 {
	n := utf8.RuneCountInString(text)
	if n == len(text) {
		return int64(n+3) / 4
	}
	ascii := 0
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return int64(ascii/4 + n - ascii)
}
