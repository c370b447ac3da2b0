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

// The vendor's words, from little to most (the SDK's shared.ReasoningEffort).
var allEfforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// efforts are the words that the vendor's families have. The first family that a name
// belongs to counts. A request per model and word was made for enricoros/big-AGI#1159 (up
// to GPT-5.6); the words of GPT-6 Astra are in UKGovernmentBEIS/inspect_ai#5254.
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

// ladders are the words of other servers' models that have fewer than OpenAI's, by the host
// and the model. Where on is set, the model can only think or not: on is the word for the
// former.
var ladders = []struct {
	host  string
	name  *lazyre.Regexp
	words []string
	on    string
}{
	// docs.mistral.ai/capabilities/reasoning: the large models have degrees, the others a switch.
	{"api.mistral.ai", lazyre.New(`mistral-large`), []string{"none", "low", "medium", "high"}, ""},
	{"api.mistral.ai", lazyre.New(``), []string{"none", "high"}, "high"},
	// console.groq.com/docs/reasoning, reasoning_effort.
	{"api.groq.com", lazyre.New(`qwen`), []string{"none", "default"}, "default"},
	{"api.groq.com", lazyre.New(`gpt-oss`), []string{"low", "medium", "high"}, ""},
	// Cerebras refuses none for gpt-oss (wrong_api_format; harn-vm's notes on the provider).
	{"api.cerebras.ai", lazyre.New(`gpt-oss`), []string{"low", "medium", "high"}, ""},
	// docs.x.ai, model-capabilities/text/reasoning: Grok 4.3 can do without, later ones cannot.
	{"api.x.ai", lazyre.New(`grok-3-mini`), []string{"low", "high"}, ""},
	{"api.x.ai", lazyre.New(`grok-4\.3`), []string{"none", "low", "medium", "high"}, ""},
	{"api.x.ai", lazyre.New(`grok-4\.[4-9]`), []string{"low", "medium", "high"}, ""},
	// api-docs.deepseek.com/guides/thinking_mode.
	{"api.deepseek.com", lazyre.New(``), []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}, ""},
}

// sixth are the models of which Chat Completions knows less than Responses.
var sixth = lazyre.New(`^gpt-6`)

// words are those that the model takes for an effort, from little to most, and the one that
// switches thinking on where it has no degrees. nil is unknown: then the server decides.
func (m *Model) words() (words []string, on string) {
	if m.vendors {
		name := plainModel(cmp.Or(m.family, m.name))
		for _, f := range efforts {
			if f.name.MatchString(name) {
				words = f.words
				break
			}
		}
		// Of GPT-6 Chat Completions takes no max (BerriAI/litellm-docs#1173).
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

// trying is how a request says how much the model tries.
type trying struct {
	// word is the effort; "" says nothing.
	word string
	// asked says that the word stands for an effort and not for a budget of tokens.
	asked bool
	// budget says that a budget was given.
	budget bool
}

// without reports whether the model is told not to reason.
func (t trying) without() bool { return t.word == string(model.EffortNone) }

// effortOf decides how much the model tries: as the request says, or the model's own
// setting, or what stands for a budget of tokens, because the APIs take none.
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

// effortFor is the model's word for an effort.
func (m *Model) effortFor(asked model.Effort) (string, error) {
	if !effortWords.MatchString(string(asked)) {
		return "", notSent(event.ErrInvalid, "there is no such effort", "use none, low, medium, high or max")
	}
	if m.vendors && !m.thinks {
		if asked == model.EffortNone {
			return "", nil // it does not reason anyway
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
		return string(model.EffortHigh), nil // every server knows it
	case words == nil, slices.Contains(words, string(asked)):
		return string(asked), nil
	}
	return "", notSent(event.ErrUnsupported, "the model %s has no effort %q", "use "+strings.Join(words, ", "), m.name, string(asked))
}

var effortWords = lazyre.New(`^[a-z]{1,16}$`)

// budgetWord is the effort that stands for a budget; "" says nothing. A model that does not
// have the word gets the next one that it has.
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

// appendEffort writes the effort as Responses takes it, with what to show of the reasoning.
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
