package journal

import "github.com/braidrun/braid/event"

// Erase returns a stored event as a redaction leaves it. input reports whether the event repeats
// a part of its run's Input, which must be erased then too. Stores use it to carry out
// redactions; see [Store].Commit.
//
// The declaration of a body ([event.BodyInfo]) says whether its kind is erased: messages, tool
// results, and what a model was told of its task and tools. Events that a driver may still need
// stay, and readers hide them: answers with calls, which may not have run, the pieces of an
// answer, questions and their answers, and state.
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
