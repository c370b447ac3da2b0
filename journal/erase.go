package journal

import "github.com/braidrun/braid/event"

// Erase gives a stored event as a redaction leaves it, and says whether the event repeats a
// part of its run's Input, which is to be erased then, too. It is the rule by which stores carry
// a redaction out; see [Store] Commit.
//
// A body's declaration says whether its kind is erased ([event.BodyInfo]): what was said, what a tool gave, and
// what a model was told of its task and tools. What a driver may still need stays as it was, and those who show it
// hide it: answers with calls, which may not have run, the pieces of an answer, questions and their answers, and state.
func Erase(r *event.Redacted, target *event.Event) (left *event.Event, input bool) {
	switch b := target.Body.(type) {
	case nil:
		return target, false
	case *event.UserMessage:
		input = b.Mail == "" && b.Why == ""
	case *event.AssistantMessage:
		input = target.Step == ""
		if b.Piece || len(event.CallsOf(b.Content)) > 0 {
			return target, input
		}
	}
	if !target.Body.Kind().Info().Erased {
		return target, input
	}
	return r.Cover(target), input
}
