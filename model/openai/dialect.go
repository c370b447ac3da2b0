package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// Dialect says in what a server that speaks Chat Completions departs from OpenAI's
// own. Servers refuse members that they do not know, and each knows others. The zero
// Dialect is that of a server of which nothing is known. Responses has no dialects.
type Dialect struct {
	// Thinking says where the thoughts of an answer that used tools stand when it goes
	// back. "" is the place where they came.
	Thinking ThinkingPlace
	// NoUsage leaves stream_options out. The server then tells its usage unasked, or never.
	NoUsage bool
	// NoSerial leaves parallel_tool_calls out, and NoTools refuses tools before the call.
	NoSerial, NoTools bool
	// Forced is the word of tool_choice for "some tool"; "" is "required", and [ForcedNever]
	// says that no tool can be forced.
	Forced string
	// NoNamed says that tool_choice names no tool: it is a word there.
	NoNamed bool
	// LongName writes max_completion_tokens for max_tokens.
	LongName bool
	// Files says that PDF documents can be sent.
	Files bool
	// Schemas says that answers can be held to a schema.
	Schemas bool
	// Strict says that tools can be held to their schemas (strict in a function).
	Strict bool
	// Effort is the form of [model.Options.Effort]: [EffortWord], [EffortObject],
	// [EffortSwitch], [EffortThinking] or [EffortNowhere]. "" is EffortWord.
	Effort string
	// Seed is the name of the member seed; "" is seed.
	Seed string
	// Cache is [CacheAnthropic] where requests mark what to cache; "" marks nothing.
	Cache string
	// IDs is how many letters and digits the id of a call must have; 0 is any number.
	IDs int
	// Errors are the kinds of errors by the server's code or type for them. They go before what
	// Braid knows of servers.
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
	// EffortNowhere says that the server takes no effort.
	EffortNowhere = "none"
)

// EffortForms lists the forms that a [Dialect] can name.
func EffortForms() []string {
	return []string{EffortWord, EffortObject, EffortSwitch, EffortThinking, EffortNowhere}
}

// CacheAnthropic marks content with cache_control, as Claude's own API takes it (OpenRouter,
// features/prompt-caching). Only models of Anthropic and Google need it there; requests for
// others have no marks.
const CacheAnthropic = "anthropic"

// place is where thoughts go that came in a place. The nil Dialect is the zero one.
func (d *Dialect) place(came ThinkingPlace) ThinkingPlace {
	if d != nil && d.Thinking != "" {
		return d.Thinking
	}
	return came
}

// ThinkingPlace is where a message holds the thoughts of a model.
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
	// ThinkingNowhere leaves thoughts out.
	ThinkingNowhere ThinkingPlace = "none"
)

// ThinkingPlaces lists the places that a [Dialect] can name.
func ThinkingPlaces() []ThinkingPlace {
	return []ThinkingPlace{ThinkingContent, ThinkingMember, ThinkingParts, ThinkingDetails, ThinkingNowhere}
}

// Speaks sets the dialect of another server than OpenAI's own, which has none.
func Speaks(d Dialect) Option {
	return func(m *Model) error {
		if d.Thinking != "" && !slices.Contains(ThinkingPlaces(), d.Thinking) {
			return wrong("there is no such place for a model's thoughts", "use reasoning_content, reasoning, parts, details or none")
		}
		if d.Forced != "" && d.Forced != "any" && d.Forced != "required" && d.Forced != ForcedNever {
			return wrong("there is no such word for a tool that must be used", "use required, any or none")
		}
		if d.Effort != "" && !slices.Contains(EffortForms(), d.Effort) {
			return wrong("there is no such form of an effort", "use reasoning_effort, reasoning, enable_thinking, thinking or none")
		}
		for code, kind := range d.Errors {
			if !slices.Contains(Kinds(), kind) {
				return wrong("errors of the code "+strconv.Quote(code)+" cannot have such a kind",
					"use one of a model's kinds, such as context_overflow")
			}
		}
		if d.Cache != "" && d.Cache != CacheAnthropic {
			return wrong("there are no such marks for a cache", "use anthropic, or none")
		}
		m.dialect = d
		return nil
	}
}

// Chat Completions has no signatures. What an answer had beside its words stands in the
// signature of its thinking, and of its calls, behind one of these marks. A mark has a
// dot, by which other providers know that it is not theirs.
const (
	// markMember and markParts say where the thoughts came.
	markMember = "chat.reasoning"
	markParts  = "chat.parts"
	// markDetails stands before a host, a blank, and a list of reasoning_details;
	// markGoogle before a host, a blank and a thought_signature. Only that host gets
	// them back.
	markDetails = "chat.details."
	markGoogle  = "chat.google."
)

// thoughts are those of one answer.
type thoughts struct {
	text strings.Builder
	// came is where they came, details what a host is to get back as it came.
	came    ThinkingPlace
	details string
}

// add takes a block of thinking. One with a signature of another API's is left out: what
// it says goes with the signature, or not at all.
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

// where is the place in which they go back.
func (t *thoughts) where(d *Dialect) ThinkingPlace {
	place := d.place(t.came)
	switch {
	case place == ThinkingDetails && t.details == "", place != ThinkingDetails && t.text.Len() == 0:
		return ThinkingNowhere
	}
	return place
}

// opaque makes a signature that goes back to one host alone.
func opaque(mark, host, data string) string { return mark + host + " " + data }

// opaqueOf gives what a host is to get back of a signature; "" is nothing.
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
