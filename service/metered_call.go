package service

import (
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service/directory"
)

// call is the state of a model call.
type call struct {
	info model.Info
	// prompt is the estimated number of its input tokens.
	prompt int64
	// used is the usage that the model has reported.
	used event.Usage
	// bytes counts the output so far.
	bytes int64
	// whole reports that the output is complete.
	whole bool
	// err is why it is not.
	err error
}

// observe counts a piece of the output.
func (c *call) observe(chunk *model.Chunk, err error) {
	if err != nil {
		c.err = err
		return
	}
	switch chunk.Kind {
	case model.ChunkUsage:
		if chunk.Usage != nil {
			c.used, _ = chunk.Usage.Clip()
		}
	case model.ChunkStop:
		c.whole = true
	default:
		c.bytes += int64(len(chunk.Text))
	}
}

// spent returns what the call used. It is the reported usage. For a call that was cut it is at
// least the prompt and the output so far; for a call that the provider refused it is nothing. The
// reports of a simulated model are taken as they are.
func (c *call) spent() directory.Spend {
	u := c.used
	if e, ok := errors.AsType[*event.Error](c.err); ok && c.bytes == 0 && u == (event.Usage{}) && refusal(e.Kind) {
		return directory.Spend{}
	}
	if !c.info.Simulated && (!c.whole || u.Prompt() == 0) {
		if u.Prompt() == 0 {
			u.Input = c.prompt
		}
		u.Output = max(u.Output, c.bytes/4)
	}
	return c.cost(u)
}

// cost returns a usage in tokens and money.
func (c *call) cost(u event.Usage) directory.Spend {
	u.Total = event.AddCounts(u.Prompt(), u.Output)
	s := directory.Spend{Tokens: u.Total}
	if c.info.Cost != nil {
		if nano, known := c.info.Cost(u); known && nano > 0 {
			s.Cost = pricing.NanoUSD(min(nano, mostCost))
		}
	}
	return s
}

// mostCost bounds the cost of one call, in 1e-9 US dollars.
const mostCost = 1e15

// refusal reports whether an error of this kind means that the provider did no work.
func refusal(kind event.ErrorKind) bool {
	switch kind {
	case "", event.ErrInternal, event.ErrStreamCut, event.ErrTimeout, event.ErrCancelled:
		return false
	default:
		return true
	}
}
