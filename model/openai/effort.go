package openai

import (
	"cmp"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// allEfforts are the vendor's values in ascending order (the SDK's shared.ReasoningEffort).
var allEfforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// efforts are the values that each of the vendor's model families supports. The first matching
// family counts. enricoros/big-AGI#1159 tested each value with each model (up to GPT-5.6);
// UKGovernmentBEIS/inspect_ai#5254 lists the values of GPT-6 Astra.
var efforts = []struct {
	name  *lazyre.Regexp
	words []string
}{
	{lazyre.New(`^(o\d|codex)`), []string{"low", "medium", "high"}},
	{lazyre.New(`^computer-use`), []string{"medium"}},
	{lazyre.New(`^gpt-5-pro`), []string{"high"}},
	{lazyre.New(`^gpt-5-codex`), []string{"low", "medium", "high"}},
	{lazyre.New(`^gpt-5(-|$)`), []string{"minimal", "low", "medium", "high"}},
	{lazyre.New(`^gpt-5\.1-codex-max`), []string{"low", "medium", "high", "xhigh"}},
	{lazyre.New(`^gpt-5\.1-codex`), []string{"low", "medium", "high"}},
	{lazyre.New(`^gpt-5\.1`), []string{"none", "low", "medium", "high"}},
	{lazyre.New(`^gpt-5\.[2-5](\.\d+)?-pro`), []string{"medium", "high", "xhigh"}},
	{lazyre.New(`^gpt-5\.[2-5](\.\d+)?-codex`), []string{"low", "medium", "high", "xhigh"}},
	{lazyre.New(`^gpt-5\.[2-5]`), []string{"none", "low", "medium", "high", "xhigh"}},
	{lazyre.New(`^gpt-5\.`), []string{"none", "low", "medium", "high", "xhigh", "max"}},
	{lazyre.New(`^gpt-6-astra`), []string{"low", "medium", "high", "xhigh", "max"}},
	{lazyre.New(`^gpt-`), []string{"none", "low", "medium", "high", "xhigh", "max"}},
}

// ladders are the values of other servers' models that support fewer than OpenAI's, by host and
// model. If on is set, the model can only turn thinking on or off, and on is the value that
// turns it on.
var ladders = []struct {
	host  string
	name  *lazyre.Regexp
	words []string
	on    string
}{
	// docs.mistral.ai/capabilities/reasoning: large models have levels, the others a switch.
	{"api.mistral.ai", lazyre.New(`mistral-large`), []string{"none", "low", "medium", "high"}, ""},
	{"api.mistral.ai", lazyre.New(``), []string{"none", "high"}, "high"},
	// console.groq.com/docs/reasoning, reasoning_effort.
	{"api.groq.com", lazyre.New(`qwen`), []string{"none", "default"}, "default"},
	{"api.groq.com", lazyre.New(`gpt-oss`), []string{"low", "medium", "high"}, ""},
	// Cerebras refuses none for gpt-oss (wrong_api_format; harn-vm's notes on the provider).
	{"api.cerebras.ai", lazyre.New(`gpt-oss`), []string{"low", "medium", "high"}, ""},
	// docs.x.ai, model-capabilities/text/reasoning: Grok 4.3 can turn thinking off, later
	// models cannot.
	{"api.x.ai", lazyre.New(`grok-3-mini`), []string{"low", "high"}, ""},
	{"api.x.ai", lazyre.New(`grok-4\.3`), []string{"none", "low", "medium", "high"}, ""},
	{"api.x.ai", lazyre.New(`grok-4\.[4-9]`), []string{"low", "medium", "high"}, ""},
	// api-docs.deepseek.com/guides/thinking_mode.
	{"api.deepseek.com", lazyre.New(``), []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}, ""},
}

// sixth are the models for which Chat Completions has fewer values than Responses.
var sixth = lazyre.New(`^gpt-6`)

// words returns the efforts that the model supports, in ascending order. on is the value that
// turns thinking on, if the model has no levels. nil means unknown: the server decides.
func (m *Model) words() (words []string, on string) {
	if m.vendors {
		name := plainModel(cmp.Or(m.family, m.name))
		for _, f := range efforts {
			if f.name.MatchString(name) {
				words = f.words
				break
			}
		}
		// Chat Completions takes no max for GPT-6 (BerriAI/litellm-docs#1173).
		if n := len(words); m.api == ChatCompletions && n > 0 && words[n-1] == "max" && sixth.MatchString(name) {
			words = words[:n-1]
		}
		return words, ""
	}
	name := strings.ToLower(m.name)
	for _, l := range ladders {
		if l.host == m.host && l.name.MatchString(name) {
			return l.words, l.on
		}
	}
	return nil, ""
}

// trying holds a request's settings for the effort.
type trying struct {
	// word is the effort; "" sends none.
	word string
	// asked is set if word comes from an effort, and not from a token budget.
	asked bool
	// budget is set if the request has a token budget.
	budget bool
}

// without reports whether the request turns reasoning off.
func (t trying) without() bool { return t.word == string(model.EffortNone) }

// effortOf determines the effort: the request's, or the model's default, or the one that
// corresponds to the request's token budget, because the APIs take no budgets.
func (m *Model) effortOf(o *model.Options) (t trying, err error) {
	t.budget = o.Thinking > 0
	asked := o.Effort
	if asked == model.EffortDefault {
		asked = model.Effort(m.effort)
	}
	if asked == model.EffortDefault {
		t.word = m.budgetWord(o.Thinking)
		return t, nil
	}
	t.asked = true
	t.word, err = m.effortFor(asked)
	return t, err
}

// effortFor returns the model's value for an effort.
func (m *Model) effortFor(asked model.Effort) (string, error) {
	if !effortWords.MatchString(string(asked)) {
		return "", notSent(event.ErrInvalid, "there is no such effort", "use none, low, medium, high or max")
	}
	if m.vendors && !m.thinks {
		if asked == model.EffortNone {
			return "", nil // it does not reason in any case
		}
		return "", notSent(event.ErrUnsupported, "the model %s takes no effort: it does not reason",
			"leave it out, or take another model; openai.As or reasons=yes says it of a name that does not tell", m.name)
	}
	if !m.vendors && m.api == ChatCompletions && m.dialect.Effort == EffortNowhere {
		return "", notSent(event.ErrUnsupported, "%s takes no effort", "leave it out, or take another server", m.title)
	}
	words, on := m.words()
	switch {
	case on != "" && asked != model.EffortNone:
		return on, nil
	case asked == model.EffortMax && len(words) > 0:
		return words[len(words)-1], nil
	case asked == model.EffortMax && m.dialect.Effort != EffortObject:
		return string(model.EffortHigh), nil // every server supports it
	case words == nil, slices.Contains(words, string(asked)):
		return string(asked), nil
	}
	return "", notSent(event.ErrUnsupported, "the model %s has no effort %q", "use "+strings.Join(words, ", "), m.name, string(asked))
}

var effortWords = lazyre.New(`^[a-z]{1,16}$`)

// budgetWord returns the effort that corresponds to a token budget; "" for none. If the model
// lacks that effort, it returns the next one that the model has.
func (m *Model) budgetWord(budget int) string {
	var word string
	switch {
	case budget <= 0, m.vendors && !m.thinks, !m.vendors && m.api == ChatCompletions && m.dialect.Effort == EffortNowhere:
		return ""
	case budget < 2048:
		word = "low"
	case budget < 16384:
		word = "medium"
	default:
		word = "high"
	}
	words, on := m.words()
	if on != "" {
		return on
	}
	if words == nil || slices.Contains(words, word) {
		return word
	}
	for _, w := range words {
		if slices.Index(allEfforts, w) > slices.Index(allEfforts, word) {
			return w
		}
	}
	return words[len(words)-1]
}

// appendEffort writes the effort for Responses, and which reasoning to show.
func (m *Model) appendEffort(b []byte, t trying, show bool) []byte {
	summary := t.word != "" && t.budget || show && m.thinks && !t.without()
	if t.word == "" && !summary {
		return b
	}
	b = append(b, `,"reasoning":{`...)
	if t.word != "" {
		b = strictjson.AppendString(append(b, `"effort":`...), t.word)
	}
	if summary {
		if t.word != "" {
			b = append(b, ',')
		}
		b = append(b, `"summary":"auto"`...)
	}
	return append(b, '}')
}

// appendChatEffort writes the effort in the form of the server's dialect.
func (m *Model) appendChatEffort(b []byte, t trying) []byte {
	if t.word == "" {
		return b
	}
	form := m.dialect.Effort
	if m.vendors {
		form = EffortWord
	}
	switch form {
	case EffortObject:
		b = strictjson.AppendString(append(b, `,"reasoning":{"effort":`...), t.word)
		return append(b, '}')
	case EffortSwitch:
		if t.without() {
			return append(b, `,"chat_template_kwargs":{"enable_thinking":false}`...)
		}
		return append(b, `,"chat_template_kwargs":{"enable_thinking":true}`...)
	case EffortThinking:
		switch {
		case t.without():
			return append(b, `,"thinking":{"type":"disabled"}`...)
		case t.asked:
			b = append(b, `,"thinking":{"type":"enabled"}`...)
		}
	}
	return strictjson.AppendString(append(b, `,"reasoning_effort":`...), t.word)
}
