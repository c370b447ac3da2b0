package openai

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
)

var (
	// verbose are the vendor's models with a verbosity (guides/latest-model; GPT-5 on).
	verbose = lazyre.New(`^gpt-([5-9]|[1-9]\d)`)
	// toolless are the vendor's models without tools in Chat Completions: GPT-6 Astra
	// (bolna-ai/bolna#1019) and GPT-6.1 Sol. Other models from GPT-5.4 on take tools there only
	// without reasoning.
	toolless = lazyre.New(`^gpt-6(-astra|\.1-sol)`)
	newer    = lazyre.New(`^gpt-(5\.([4-9]|\d\d)|6)`)
	// searching are the models with web search in Chat Completions (guides/tools-web-search).
	searching = lazyre.New(`-search(-preview|-api)?(-\d{4}-\d\d-\d\d)?$`)
	// lasting are the models with a configurable cache lifetime (guides/prompt-caching).
	lasting = lazyre.New(`^gpt-(5\.([6-9]|\d\d)|[6-9]|[1-9]\d)`)
	// extended are the models that have no retention but 24h.
	extended = lazyre.New(`^gpt-(5\.([5-9]|\d\d)|[6-9]|[1-9]\d)`)
	tiers    = lazyre.New(`^[a-z][a-z0-9_-]{0,31}$`)
)

// fits returns an error for settings that the model or its API lacks. Braid never drops a
// setting silently.
func (m *Model) fits(req *model.Request, t trying) error {
	o := &req.Options
	if _, err := provider.Headers(op, o.Headers); err != nil {
		return err
	}
	if err := m.fitsSampling(o, t); err != nil {
		return err
	}
	if err := m.fitsContext(&o.Context); err != nil {
		return err
	}
	name := plainModel(cmp.Or(m.family, m.name))
	switch {
	case o.Verbosity != "" && !slices.Contains([]string{"low", "medium", "high"}, o.Verbosity):
		return notSent(event.ErrInvalid, "there is no such verbosity", "use low, medium or high")
	case o.Verbosity != "" && m.vendors && !verbose.MatchString(name):
		return notSent(event.ErrUnsupported, "the model %s takes no verbosity", "leave it out, or take GPT-5 or a newer model", m.name)
	case o.ServiceTier != "" && !tiers.MatchString(o.ServiceTier):
		return notSent(event.ErrInvalid, "there is no such service tier", "use auto, default, flex or priority")
	case m.api == ChatCompletions && m.vendors && len(req.Tools) > 0 &&
		(toolless.MatchString(name) || t.asked && !t.without() && newer.MatchString(name)):
		return notSent(event.ErrUnsupported, "the model %s takes no tools by Chat Completions while it reasons",
			"use Responses, api=responses", m.name)
	case m.forcedInVain(&req.ToolChoice, t) && len(req.Tools) > 0:
		return notSent(event.ErrUnsupported, "the model %s cannot be made to use a tool while it thinks",
			"leave the choice to the model, or set the effort none", m.name)
	}
	return m.fitsCaching(name)
}

// fitsSampling checks the sampling settings. OpenAI's reasoning models take none, unless
// reasoning is turned off (guides/latest-model, parameter compatibility).
func (m *Model) fitsSampling(o *model.Options, t trying) error {
	reasons := m.thinks && m.vendors && !t.without()
	switch {
	case o.Temperature != nil && reasons:
		return notSent(event.ErrUnsupported, "Models of OpenAI that reason take no temperature", "leave it out, or take another model")
	case o.TopP != nil && (!(*o.TopP > 0) || *o.TopP > 1):
		return notSent(event.ErrInvalid, "top_p is not above 0 and at most 1", "set it to a share, such as 0.9")
	case o.TopP != nil && reasons:
		return notSent(event.ErrUnsupported, "Models of OpenAI that reason take no top_p", "leave it out, or take another model")
	case o.Seed != nil && m.api == Responses:
		return notSent(event.ErrUnsupported, "the Responses API takes no seed", "leave it out, or use Chat Completions, api=chat")
	}
	return nil
}

// fitsContext checks the server-side context management.
func (m *Model) fitsContext(c *model.ContextManagement) error {
	switch {
	case c.ClearResults != 0 || c.KeepResults != 0:
		return notSent(event.ErrUnsupported, "%s clears no tool results",
			"let it compact the conversation, or manage the context in the agent", m.title)
	case (c.Compact != 0 || c.Truncate) && m.api == ChatCompletions:
		return notSent(event.ErrUnsupported, "Chat Completions does not shorten conversations", "use Responses, or manage the context in the agent")
	case c.Compact < 0:
		return notSent(event.ErrInvalid, "the number of tokens for a compaction is negative", "leave it out, or set it above 0")
	}
	return nil
}

// fitsCaching checks the cache retention.
func (m *Model) fitsCaching(name string) error {
	switch {
	case m.retention == "" || !m.vendors: // nothing is known of other servers
		return nil
	case m.lifetime() && !lasting.MatchString(name):
		return notSent(event.ErrUnsupported, "the prompt cache of the model %s has no lifetime %s", "use in_memory or 24h", m.name, m.retention)
	case m.retention == inMemory && extended.MatchString(name):
		return notSent(event.ErrUnsupported, "the prompt cache of the model %s is not held in memory", "use 24h", m.name)
	}
	return nil
}

const inMemory = "in_memory"

// lifetime reports whether the retention is a minimum and not a maximum.
func (m *Model) lifetime() bool { return strings.HasSuffix(m.retention, "m") || m.retention == "12h" }

// pensive are models that cannot be forced to call a tool while they think: DeepSeek's
// (BerriAI/litellm#37470, tickernelz/opencode-mem#253) and those of Qwen that always think
// (cloudwego/eino#994).
var pensive = lazyre.New(`deepseek-(v[4-9]|reasoner|flash|pro)|qwq|qwen.*thinking`)

// forcedInVain reports whether the request forces a tool call that the model would refuse.
// Local servers force calls by grammar, with any model.
func (m *Model) forcedInVain(c *model.ToolChoice, t trying) bool {
	forced := c.Mode == model.ToolsAny || c.Mode == model.ToolsOne
	return forced && !m.vendors && !t.without() && !m.near() && pensive.MatchString(strings.ToLower(m.name))
}

// appendSampling writes the sampling settings.
func (m *Model) appendSampling(b []byte, o *model.Options) []byte {
	if o.Temperature != nil {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), *o.Temperature, 'g', -1, 64)
	}
	if o.TopP != nil {
		b = strconv.AppendFloat(append(b, `,"top_p":`...), *o.TopP, 'g', -1, 64)
	}
	if o.Seed != nil {
		b = strictjson.AppendString(append(b, ','), m.seedName())
		b = strconv.AppendInt(append(b, ':'), *o.Seed, 10)
	}
	return b
}

func (m *Model) seedName() string {
	if m.vendors {
		return "seed"
	}
	return cmp.Or(m.dialect.Seed, "seed")
}

// appendCaching writes the settings of the prompt cache (guides/prompt-caching).
func (m *Model) appendCaching(b []byte) []byte {
	if m.cacheKey != "" {
		b = strictjson.AppendString(append(b, `,"prompt_cache_key":`...), m.cacheKey)
	}
	switch {
	case m.retention == "":
	case m.lifetime():
		b = strictjson.AppendString(append(b, `,"prompt_cache_options":{"ttl":`...), m.retention)
		b = append(b, '}')
	default:
		b = strictjson.AppendString(append(b, `,"prompt_cache_retention":`...), m.retention)
	}
	return b
}

// appendText writes the member with the answer's schema; held is empty for none. In Responses
// the same member holds the verbosity.
func (m *Model) appendText(b, held []byte, verbosity string) []byte {
	switch {
	case verbosity == "" || m.api == ChatCompletions:
		return append(b, held...)
	case len(held) == 0:
		b = append(b, `,"text":{"verbosity":`...)
	default:
		b = append(append(b, held[:len(held)-1]...), `,"verbosity":`...)
	}
	return append(strictjson.AppendString(b, verbosity), '}')
}

// own returns the members of a request that callers may not set.
func (m *Model) own() []string {
	own := []string{
		"model", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p", "service_tier", "prompt_cache_key", "prompt_cache_retention",
		"prompt_cache_options", "stream",
	}
	if m.api == Responses {
		return append(own, "instructions", "input", "max_output_tokens", "max_tool_calls", "include", "reasoning", "context_management",
			"truncation", "store", "text")
	}
	own = append(own, "messages", "stop", "max_tokens", "max_completion_tokens", "verbosity",
		"web_search_options", "stream_options", "response_format",
		m.seedName())
	switch form := m.dialect.Effort; {
	case m.vendors, form == "", form == EffortWord, form == EffortNowhere:
		return append(own, "reasoning_effort")
	case form == EffortObject:
		return append(own, "reasoning_effort", "reasoning")
	case form == EffortSwitch:
		return append(own, "chat_template_kwargs")
	default:
		return append(own, "reasoning_effort", "thinking")
	}
}
