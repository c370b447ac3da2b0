package event

import "github.com/braidrun/braid/internal/strictjson"

// How each body is written and read, side by side: the two must agree with the
// struct tags, which a test compares.

// body writes kind and body. A nil pointer in b's place is as bad as no body.
func (w *encoder) body(b Body) {
	switch b := b.(type) {
	case *TextDelta:
		w.textDelta(b)
	case *ThinkingDelta:
		w.thinkingDelta(b)
	case *ToolInputDelta:
		w.toolInputDelta(b)
	case *ToolProgress:
		w.toolProgress(b)
	case *AnswerReplaced:
		w.answerReplaced(b)
	case *StepBegun:
		w.stepBegun(b)
	case *StepEnded:
		w.stepEnded(b)
	case *AssistantMessage:
		w.assistantMessage(b)
	case *UserMessage:
		w.userMessage(b)
	case *RunStarted:
		w.runStarted(b)
	case *RunEnded:
		w.runEnded(b)
	case *ScopeOpened:
		w.scopeOpened(b)
	case *ScopeClosed:
		w.scopeClosed(b)
	case *StateChanged:
		w.stateChanged(b)
	case *ArtifactSaved:
		w.artifactSaved(b)
	case *Transferred:
		w.transferred(b)
	case *Escalated:
		w.escalated(b)
	case *Asked:
		w.asked(b)
	case *Answered:
		w.answered(b)
	case *Fault:
		w.fault(b)
	case *Notice:
		w.notice(b)
	case *Compacted:
		w.compacted(b)
	case *Redacted:
		w.redacted(b)
	case *Setup:
		w.setup(b)
	case *Unknown:
		w.unknownBody(b)
	default:
		w.fail(noBody)
	}
}

// body reads a body of the kind.
func (r *decoder) body(kind []byte) Body {
	switch Kind(kind) {
	case KindTextDelta:
		return r.textDelta()
	case KindThinkingDelta:
		return r.thinkingDelta()
	case KindToolInputDelta:
		return r.toolInputDelta()
	case KindToolProgress:
		return r.toolProgress()
	case KindAnswerReplaced:
		return r.answerReplaced()
	case KindStepBegun:
		return r.stepBegun()
	case KindStepEnded:
		return r.stepEnded()
	case KindAssistantMessage:
		return r.assistantMessage()
	case KindUserMessage:
		return r.userMessage()
	case KindRunStarted:
		return r.runStarted()
	case KindRunEnded:
		return r.runEnded()
	case KindScopeOpened:
		return r.scopeOpened()
	case KindScopeClosed:
		return r.scopeClosed()
	case KindStateChanged:
		return r.stateChanged()
	case KindArtifactSaved:
		return r.artifactSaved()
	case KindTransferred:
		return r.transferred()
	case KindEscalated:
		return r.escalated()
	case KindAsked:
		return r.asked()
	case KindAnswered:
		return r.answered()
	case KindFault:
		return r.fault()
	case KindNotice:
		return r.notice()
	case KindCompacted:
		return r.compacted()
	case KindRedacted:
		return r.redacted()
	case KindSetup:
		return r.setup()
	default:
		return &Unknown{Name: Kind(kind), Raw: r.Verbatim(maxRaw)}
	}
}

const noBody = "the event has no body"

// open writes kind and begins the body, if there is one.
func (w *encoder) open(is bool, kind Kind) bool {
	if !is {
		w.fail(noBody)
		return false
	}
	w.buf = append(w.buf, `"kind":"`...)
	w.buf = append(w.buf, kind...)
	w.buf = append(w.buf, `","body":{`...)
	return true
}

func (w *encoder) unknownBody(u *Unknown) {
	if u == nil {
		w.fail(noBody)
		return
	}
	if u.Name == "" || knownKind(u.Name) {
		w.fail("an unknown body must have a name, and not that of a known kind")
		return
	}
	w.str(`"kind":`, string(u.Name))
	if len(u.Raw) == 0 {
		return // it came without one
	}
	if err := strictjson.Check(u.Raw, maxRaw); err != nil {
		w.failRaw(`"body"`, err)
		return
	}
	w.key(`"body":`)
	w.buf = append(append(w.buf, u.Raw...), ',')
}
