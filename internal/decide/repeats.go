package decide

import (
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// stuck replaces cmd if the scope makes no progress: the run or the sub-agent ends, or the model gets a note, which
// the log records.
func stuck(s *fold.Scope, p *Policy, cmd Command) Command {
	l := p.Limits
	least := l.Repeats
	if least <= 0 || l.RepeatNote > 0 && l.RepeatNote < least {
		least = l.RepeatNote
	}
	if least <= 0 || s.Repeats == nil || s.Repeats.Most < least {
		return cmd
	}
	if o := worst(s.Repeats, p, l.Repeats); o != nil {
		return finish(event.WhyLimit, event.StopLimitRepeats, &event.Error{
			Kind: event.ErrLimit,
			Message: "the model called " + strconv.Quote(o.Tool) + " with the same arguments " + strconv.Itoa(o.Times) +
				" times, and each time it gave the same",
			Hint: "the conversation stays usable; raise Limits.Repeats, or give the tool tool.Polling where asking again is right",
		})
	}
	if o := worst(s.Repeats, p, l.RepeatNote); o != nil && !s.Repeats.Told {
		return Command{Do: Say, Why: event.WhyRepeats, Say: "[You have called " + strconv.Quote(o.Tool) + " with the same arguments " +
			strconv.Itoa(o.Times) + " times, and it gave the same result each time. Calling it so again will not help: do something else, " +
			"or answer with what you have and say what is missing.]"}
	}
	return cmd
}

// worst returns the call that was repeated most, and at least times times. It ignores tools for polling; nil means
// none.
func worst(r *fold.Repeats, p *Policy, times int) *fold.Repeat {
	if times <= 0 || r.Most < times {
		return nil
	}
	var most *fold.Repeat
	for i := range r.Since {
		o := &r.Since[i]
		if o.Times < times || most != nil && o.Times <= most.Times || slices.Contains(p.Polling, o.Tool) {
			continue
		}
		most = o
	}
	return most
}
