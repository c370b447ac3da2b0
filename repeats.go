package braid

import (
	"github.com/braidrun/braid/event"
)

// again gives the repeated call that was made most often, at least so many times, of those whose
// tools are not for polling; nil for none.
func (in *inputs) again(r *repeats, times int) *repeated {
	if times <= 0 || r.most < times {
		return nil
	}
	var worst *repeated
	for i := range r.since {
		o := &r.since[i]
		if o.times < times || worst != nil && o.times <= worst.times {
			continue
		}
		if t := in.offer.tool(o.tool); t != nil && TraitsOf(t).Polling {
			continue
		}
		worst = o
	}
	return worst
}

// looping says that the scope makes no headway: the run, or the agent's work, ends, or the
// model is told, with words that enter the log.
func (in *inputs) looping(s *scope, cmd command) command {
	l := &in.Agent.limits
	least := l.Repeats
	if least <= 0 || l.RepeatNote > 0 && l.RepeatNote < least {
		least = l.RepeatNote
	}
	if least <= 0 || s.repeats == nil || s.repeats.most < least {
		return cmd
	}
	if in.offer == nil {
		in.offer = in.Agent.current()
	}
	if o := in.again(s.repeats, l.Repeats); o != nil {
		return finish(event.WhyLimit, event.StopLimitRepeats, &event.Error{
			Kind:    event.ErrLimit,
			Message: "the model called " + quote(o.tool) + " with the same arguments " + itoa(o.times) + " times, and each time it gave the same",
			Hint:    "the conversation stays usable; raise Limits.Repeats, or give the tool braid.Polling where asking again is right",
		})
	}
	if o := in.again(s.repeats, l.RepeatNote); o != nil && !s.repeats.told {
		return command{Do: doSay, Why: event.WhyRepeats, say: "[You have called " + quote(o.tool) + " with the same arguments " + itoa(o.times) +
			" times, and it gave the same result each time. Calling it so again will not help: do something else, " +
			"or answer with what you have and say what is missing.]"}
	}
	return cmd
}
