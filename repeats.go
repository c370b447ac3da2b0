package braid

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
)

// again gives the repeated call that was made most often, at least so many times, of those whose
// tools are not for polling; nil for none.
func (in *inputs) again(r *fold.Repeats, times int) *fold.Repeat {
	if times <= 0 || r.Most < times {
		return nil
	}
	var worst *fold.Repeat
	for i := range r.Since {
		o := &r.Since[i]
		if o.Times < times || worst != nil && o.Times <= worst.Times {
			continue
		}
		if t := in.offer.tool(o.Tool); t != nil && TraitsOf(t).Polling {
			continue
		}
		worst = o
	}
	return worst
}

// looping says that the scope makes no headway: the run, or the agent's work, ends, or the
// model is told, with words that enter the log.
func (in *inputs) looping(s *fold.Scope, cmd command) command {
	l := &in.Agent.limits
	least := l.Repeats
	if least <= 0 || l.RepeatNote > 0 && l.RepeatNote < least {
		least = l.RepeatNote
	}
	if least <= 0 || s.Repeats == nil || s.Repeats.Most < least {
		return cmd
	}
	if in.offer == nil {
		in.offer = in.Agent.current()
	}
	if o := in.again(s.Repeats, l.Repeats); o != nil {
		return finish(event.WhyLimit, event.StopLimitRepeats, &event.Error{
			Kind:    event.ErrLimit,
			Message: "the model called " + quote(o.Tool) + " with the same arguments " + itoa(o.Times) + " times, and each time it gave the same",
			Hint:    "the conversation stays usable; raise Limits.Repeats, or give the tool braid.Polling where asking again is right",
		})
	}
	if o := in.again(s.Repeats, l.RepeatNote); o != nil && !s.Repeats.Told {
		return command{Do: doSay, Why: event.WhyRepeats, say: "[You have called " + quote(o.Tool) + " with the same arguments " + itoa(o.Times) +
			" times, and it gave the same result each time. Calling it so again will not help: do something else, " +
			"or answer with what you have and say what is missing.]"}
	}
	return cmd
}
