package modeltest

import (
	"slices"
	"testing"

	"github.com/braidrun/braid/event"
)

// Feature is a row of the table of features: a part of the contract. Features that a vendor may
// lack can be in [Provider].Without.
type Feature string

// The features that a vendor may lack.
const (
	SeveralTexts     Feature = "several texts"
	ParallelCalls    Feature = "parallel calls"
	InterleavedCalls Feature = "interleaved calls"
	// ArgumentPieces is the streaming of a call's arguments; a vendor without it sends
	// them whole, as JSON.
	ArgumentPieces   Feature = "arguments in pieces"
	Thinking         Feature = "thinking"
	SignedThinking   Feature = "signed thinking"
	RedactedThinking Feature = "redacted thinking"
	Images           Feature = "images"
	ImageURLs        Feature = "images by address"
	// ImageLimit is a limit of one image's bytes.
	ImageLimit Feature = "image too large"
	Documents  Feature = "documents"
	// Media is audio and video.
	Media      Feature = "media"
	ToolChoice Feature = "tool choice"
	// SerialCalls is a choice of at most one call in an answer.
	SerialCalls Feature = "one call at a time"
	// StructuredOutput is an answer that follows a schema.
	StructuredOutput Feature = "structured output"
	StopWords        Feature = "stop words"
	// UnknownStops is set for wires that can carry unknown stop reasons.
	UnknownStops Feature = "unknown stop reasons"
	// CacheUsage counts what was read from a prompt cache, CacheWrites what was
	// written, HourWrites what was written to stay for an hour.
	CacheUsage     Feature = "cache reads counted"
	CacheWrites    Feature = "cache writes counted"
	HourWrites     Feature = "one-hour cache writes counted"
	ReasoningUsage Feature = "reasoning tokens counted"
	// LateUsage is usage that follows the stop reason.
	LateUsage Feature = "usage after the stop"
	// GuardrailRedaction is a vendor's guardrail that removes input or output.
	GuardrailRedaction Feature = "guardrail redaction"
	// PromptCache is a cache of prompt prefixes.
	PromptCache Feature = "prompt cache"
	RetryAfter  Feature = "time to wait"
)

// The features that every provider has.
const (
	texts          Feature = "text deltas"
	slowly         Feature = "byte by byte"
	textThenCall   Feature = "text before a call"
	thinkingKept   Feature = "thinking sent back"
	told           Feature = "input that cannot be read is told"
	toolsNamed     Feature = "tool names"
	schemas        Feature = "tool schemas"
	usageCounted   Feature = "usage"
	historiesTaken Feature = "histories of all shapes"
	foreign        Feature = "histories of other providers"
	untouched      Feature = "requests only read"
	parallel       Feature = "many calls at once"
	cancelled      Feature = "cancelling"
	repeated       Feature = "repeated by the loop alone"
)

// optional lists what can stand in Without.
var optional = []Feature{
	SeveralTexts, ParallelCalls, InterleavedCalls, ArgumentPieces, Thinking, SignedThinking, RedactedThinking, Images, ImageURLs, ImageLimit,
	Documents, Media, ToolChoice, SerialCalls, StructuredOutput, StopWords, UnknownStops, CacheUsage, CacheWrites, HourWrites, ReasoningUsage,
	LateUsage, GuardrailRedaction, PromptCache, RetryAfter,
}

// reasons are those for which a model's answer ends.
var reasons = []event.StopReason{
	event.StopEndTurn, event.StopToolUse, event.StopSequence, event.StopMaxTokens, event.StopRefusal, event.StopContentFiltered,
	event.StopGuardrail, event.StopPause, event.StopContextOverflow,
}

// faultsInOrder lists them as the table does.
var faultsInOrder = []Fault{
	Throttled, Overloaded, Unavailable, ContextOverflow, Unauthenticated, Forbidden, UnknownModel, Refused, TooLarge, Silent,
	Cut, NoEnd, Stalled, Overloads, FailsLater,
}

func stopRow(r event.StopReason) Feature { return Feature("stop: " + r) }
func faultRow(f Fault) Feature           { return Feature("failure: " + f) }

// Features returns all rows of the table in order.
func Features() []Feature {
	list := []Feature{
		texts, SeveralTexts, slowly, textThenCall, ParallelCalls, InterleavedCalls, ArgumentPieces,
		Thinking, SignedThinking, RedactedThinking, thinkingKept,
		Images, ImageURLs, ImageLimit, Documents, Media, told,
		ToolChoice, SerialCalls, toolsNamed, schemas, StructuredOutput, StopWords,
	}
	for _, r := range reasons {
		list = append(list, stopRow(r))
	}
	list = append(
		list, UnknownStops, GuardrailRedaction,
		usageCounted, CacheUsage, CacheWrites, HourWrites, ReasoningUsage, LateUsage,
		PromptCache, historiesTaken, foreign, untouched, parallel,
	)
	for _, f := range faultsInOrder {
		list = append(list, faultRow(f))
	}
	return append(list, RetryAfter, cancelled, repeated)
}

// has reports whether the vendor has the feature.
func (p *Provider) has(f Feature) bool {
	switch {
	case f == thinkingKept:
		return p.has(Thinking)
	case slices.ContainsFunc(reasons, func(r event.StopReason) bool { return stopRow(r) == f }):
		return slices.ContainsFunc(p.stops(), func(r event.StopReason) bool { return stopRow(r) == f })
	default:
		return !slices.Contains(p.Without, f)
	}
}

// stops are the reasons that the vendor gives.
func (p *Provider) stops() []event.StopReason {
	if len(p.Stops) > 0 {
		return p.Stops
	}
	return []event.StopReason{event.StopEndTurn, event.StopToolUse, event.StopMaxTokens}
}

// shows begins a test of features: it is skipped where the vendor does not have one
// of them, and what becomes of it counts for all of them.
func (p *Provider) shows(t *testing.T, features ...Feature) {
	t.Helper()
	for _, f := range features {
		if !p.has(f) {
			t.Skip("the vendor has no " + string(f))
		}
	}
	if p.seen != nil {
		t.Cleanup(func() { p.seen.count(t, features) })
	}
}
