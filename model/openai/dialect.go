package openai

import (
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
)

// Dialect describes how a server's Chat Completions differ from OpenAI's. Servers refuse
// members that they do not know, and each knows different ones. The zero Dialect is for
// an unknown server. Responses has no dialects.
type Dialect struct {
	// Thinking is where a message that is sent back holds its thinking, if it called
	// tools. "" is the place where the thinking came.
	Thinking ThinkingPlace
	// NoUsage leaves out stream_options. The server then reports usage unasked, or never.
	NoUsage bool
	// NoSerial leaves out parallel_tool_calls. NoTools refuses tools before the call.
	NoSerial, NoTools bool
	// Forced is the value of tool_choice for "any tool"; "" is "required". [ForcedNever]
	// means that the server cannot force a tool.
	Forced string
	// NoNamed means that tool_choice cannot name a tool.
	NoNamed bool
	// LongName writes max_completion_tokens for max_tokens.
	LongName bool
	// Files means that the server takes PDF documents.
	Files bool
	// Schemas means that the server has structured outputs.
	Schemas bool
	// Strict means that the server has strict tools (strict in a function).
	Strict bool
	// Effort is the form of [model.Options.Effort]: [EffortWord], [EffortObject],
	// [EffortSwitch], [EffortThinking] or [EffortNowhere]. "" is EffortWord.
	Effort string
	// Seed is the name of the member seed; "" is seed.
	Seed string
	// Cache is [CacheAnthropic] if requests carry cache points; "" is none.
	Cache string
	// IDs is the exact length of a call's id in letters and digits; 0 is any length.
	IDs int
	// Errors maps the server's error codes and types to kinds. It takes precedence over Braid's
	// own mapping.
	Errors map[string]event.ErrorKind
}

// ForcedNever is the [Dialect].Forced of a server that forces no tool.
const ForcedNever = "none"

// The forms of an effort.
const (
	// EffortWord is the member reasoning_effort (OpenAI's api-reference/chat/create).
	EffortWord = "reasoning_effort"
	// EffortObject is {"reasoning":{"effort":…}} (OpenRouter, best-practices/reasoning-tokens).
	EffortObject = "reasoning"
	// EffortSwitch is {"chat_template_kwargs":{"enable_thinking":…}}: the model thinks, or it
	// does not (vLLM, features/reasoning_outputs; Qwen's chat template).
	EffortSwitch = "enable_thinking"
	// EffortThinking is {"thinking":{"type":"enabled"}} or "disabled", with EffortWord beside
	// the former (DeepSeek's API, guides/thinking_mode).
	EffortThinking = "thinking"
	// EffortNowhere means that the server takes no effort.
	EffortNowhere = "none"
)

// EffortForms lists the forms that a [Dialect] can name.
func EffortForms() []string {
	return []string{EffortWord, EffortObject, EffortSwitch, EffortThinking, EffortNowhere}
}

// CacheAnthropic marks content with cache_control, as in Anthropic's API (OpenRouter,
// features/prompt-caching). Braid marks only requests for models of Anthropic and Google,
// because no others need it there.
const CacheAnthropic = "anthropic"

// place returns where to send back thinking that came in a place. A nil Dialect is the zero one.
func (d *Dialect) place(came ThinkingPlace) ThinkingPlace {
	if d != nil && d.Thinking != "" {
		return d.Thinking
	}
	return came
}

// ThinkingPlace is where a message holds the model's thinking.
type ThinkingPlace string

// The places.
const (
	// ThinkingContent is the member reasoning_content (DeepSeek's API, guides/thinking_mode).
	ThinkingContent ThinkingPlace = "reasoning_content"
	// ThinkingMember is the member reasoning (Groq's API reference, chat create; vLLM,
	// features/reasoning_outputs).
	ThinkingMember ThinkingPlace = "reasoning"
	// ThinkingParts are parts of the content (Mistral's API, capabilities/reasoning).
	ThinkingParts ThinkingPlace = "parts"
	// ThinkingDetails is the member reasoning_details, exactly as it came (OpenRouter,
	// best-practices/reasoning-tokens, preserving reasoning).
	ThinkingDetails ThinkingPlace = "details"
	// ThinkingNowhere leaves thinking out.
	ThinkingNowhere ThinkingPlace = "none"
)

// ThinkingPlaces lists the places that a [Dialect] can name.
func ThinkingPlaces() []ThinkingPlace {
	return []ThinkingPlace{ThinkingContent, ThinkingMember, ThinkingParts, ThinkingDetails, ThinkingNowhere}
}

// Chat Completions has no signatures. Braid stores an answer's extra data in the
// signatures of its thinking and calls, after one of these marks. A mark contains a
// dot, so that other providers know that the signature is not theirs.
const (
	// markMember and markParts record where the thinking came.
	markMember = "chat.reasoning"
	markParts  = "chat.parts"
	// markDetails precedes a host, a blank, and a list of reasoning_details. markGoogle
	// precedes a host, a blank and a thought_signature. Braid sends them back only to
	// that host.
	markDetails = "chat.details."
	markGoogle  = "chat.google."
)

// thoughts collects the thinking of one answer.
type thoughts struct {
	text strings.Builder
	// came is the place of the thinking. details goes back to its host unchanged.
	came    ThinkingPlace
	details string
}

// add adds a block of thinking. It leaves out a block with another API's signature, because
// such a block is valid only with its signature.
func (t *thoughts) add(b *event.Thinking, host string) {
	came := ThinkingContent
	switch {
	case b.Signature == "":
	case b.Signature == markMember:
		came = ThinkingMember
	case b.Signature == markParts:
		came = ThinkingParts
	case strings.HasPrefix(b.Signature, markDetails):
		came = ThinkingDetails
		if details := opaqueOf(b.Signature, markDetails, host); json.Valid([]byte(details)) {
			t.details = details
		}
	default:
		return
	}
	t.came = came
	t.text.WriteString(b.Text)
}

// where returns the place in which the thinking goes back.
func (t *thoughts) where(d *Dialect) ThinkingPlace {
	place := d.place(t.came)
	switch {
	case place == ThinkingDetails && t.details == "", place != ThinkingDetails && t.text.Len() == 0:
		return ThinkingNowhere
	}
	return place
}

// opaque returns a signature that goes back only to one host.
func opaque(mark, host, data string) string { return mark + host + " " + data }

// opaqueOf returns the part of a signature that goes back to a host; "" for none.
func opaqueOf(signature, mark, host string) string {
	rest, ok := strings.CutPrefix(signature, mark)
	if !ok {
		return ""
	}
	from, data, _ := strings.Cut(rest, " ")
	if from != host {
		return ""
	}
	return data
}
