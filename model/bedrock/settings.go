package bedrock

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
)

// unkept returns an error for a setting that the model or the API lacks.
func (m *Model) unkept(req *model.Request) error {
	o := &req.Options
	const elsewhere = "leave it out, or take another provider"
	switch {
	case o.Seed != nil: // API_runtime_InferenceConfiguration has none
		return notSent(event.ErrUnsupported, "Amazon Bedrock's Converse has no seed", elsewhere)
	case o.Verbosity != "":
		return notSent(event.ErrUnsupported, "Amazon Bedrock's Converse has no verbosity", elsewhere)
	case o.Context.Any():
		return notSent(event.ErrUnsupported, "Amazon Bedrock's Converse does not shorten conversations",
			"leave it out, or have Braid shorten them")
	case o.TopP != nil && (*o.TopP <= 0 || *o.TopP > 1):
		return notSent(event.ErrInvalid, "top_p is a share of probability", "give a number above 0, at most 1")
	}
	if _, err := header(o); err != nil {
		return err
	}
	if _, err := m.served(req); err != nil {
		return err
	}
	if t := o.ServiceTier; t != "" && !slices.Contains(tiers, t) && !slices.Contains(latencies, t) {
		return notSent(event.ErrUnsupported, "Amazon Bedrock has no service tier %q", "use priority, default, flex, reserved or optimized", t)
	}
	if err := m.sampled(req); err != nil {
		return err
	}
	_, err := m.thought(req)
	return err
}

// sampled returns an error for sampling settings that the model refuses.
func (m *Model) sampled(req *model.Request) error {
	o := &req.Options
	if o.TopP == nil {
		return nil
	}
	f := &m.family
	switch {
	case f.noSampling:
		// Claude from Opus 4.7 on: platform.claude.com/docs, the models' migration guides.
		return notSent(event.ErrUnsupported, "the model %q takes no top_p", "leave it out", m.name)
	case f.oneSampling && o.Temperature != nil:
		return notSent(event.ErrUnsupported, "the model %q takes top_p or a temperature, and not both", "leave one of them out", m.name)
	}
	t, err := m.thought(req)
	const least = 0.95 // docs: build-with-claude/extended-thinking, feature compatibility
	if err == nil && f.claude && (t.budget > 0 || t.adaptive) && *o.TopP < least {
		return notSent(event.ErrUnsupported, "the model %q takes a top_p from 0.95 on while it thinks", "raise it, or ask for no thinking", m.name)
	}
	return nil
}

// The words of API_runtime_ServiceTier and API_runtime_PerformanceConfiguration.
var (
	tiers     = []string{"priority", "default", "flex", "reserved"}
	latencies = []string{"standard", "optimized"}
)

// speed returns the words for latency and tier. The request's take precedence over the model's.
func (m *Model) speed(o *model.Options) (latency, tier string) {
	l, t := m.latency, m.tier
	switch {
	case slices.Contains(latencies, o.ServiceTier):
		l = o.ServiceTier
	case o.ServiceTier != "":
		t = o.ServiceTier
	}
	if l != "" {
		latency = `,"performanceConfig":{"latency":"` + l + `"}`
	}
	if t != "" {
		tier = `,"serviceTier":{"type":"` + t + `"}`
	}
	return latency, tier
}

// header returns the header fields that the developer adds.
func header(o *model.Options) (http.Header, error) {
	return provider.Headers(op, o.Headers, "X-Amz-Date", "X-Amz-Content-Sha256")
}

// systemTools are the names of Nova's server-side tools, by kind
// (nova2-userguide, web-grounding and the code interpreter; API_runtime_SystemTool).
var systemTools = map[model.ServerToolKind]string{
	model.WebSearch: "nova_grounding", model.CodeExecution: "nova_code_interpreter",
}

// served returns the server-side tools as members of the tool list, each with a trailing comma.
func (m *Model) served(req *model.Request) ([]byte, error) {
	var b []byte
	for i := range req.Options.ServerTools {
		t := &req.Options.ServerTools[i]
		name := systemTools[t.Kind]
		switch {
		case name == "" || !slices.Contains(m.family.served, t.Kind):
			return nil, notSent(event.ErrUnsupported, "the model %q has no server-side tool %q on Amazon Bedrock",
				"leave it out, or take a model that has it, such as Nova 2", m.name, string(t.Kind))
		case t.MaxUses != 0 || len(t.Domains) > 0 || len(t.Blocked) > 0:
			return nil, notSent(event.ErrUnsupported, "Amazon Bedrock's own tools have no bounds: neither of uses nor of hosts", "leave them out")
		case slices.ContainsFunc(req.Options.ServerTools[:i], func(o model.ServerTool) bool { return o.Kind == t.Kind }):
			return nil, notSent(event.ErrInvalid, "the server-side tool %q is there twice", "name it once", string(t.Kind))
		}
		b = append(strictjson.AppendString(append(b, `{"systemTool":{"name":`...), name), `}},`...)
	}
	if req.ToolChoice.Mode == model.ToolsNone {
		return nil, nil
	}
	return b, nil
}

// thought is a request's settings for thinking. The zero value sends none.
type thought struct {
	// budget is in tokens. If shrinks is set, a smaller MaxTokens reduces it.
	budget  int
	shrinks bool
	// adaptive lets the model decide, display shows what it thinks.
	adaptive, display bool
	// effort is the model's own word, off the type of thinking that is none.
	effort, off string
}

// budgets maps efforts to token budgets, for models without efforts. The largest budget and an
// answer after it fit the 32,000 tokens that the smallest of these models writes.
var budgets = map[model.Effort]int{
	model.EffortLow: 2048, model.EffortMedium: 8192, model.EffortHigh: 16_384, model.EffortMax: 23_552,
}

// thought returns the settings for thinking of req. Each family has its own efforts:
//
//   - Claude up to 4.5 has budgets (bedrock/latest/userguide, claude-messages-extended-thinking).
//   - Claude from 4.6 on has low, medium, high and max, and from 4.7 on xhigh
//     (claude-messages-adaptive-thinking; platform.claude.com/docs, build-with-claude/effort).
//   - Nova 2 has low, medium and high (nova2-userguide, extended-thinking), gpt-oss too.
func (m *Model) thought(req *model.Request) (thought, error) {
	o, f := &req.Options, &m.family
	t := thought{display: o.ShowThinking && f.hides}
	switch {
	case o.Effort == model.EffortDefault && o.Thinking <= 0:
		t.adaptive = t.display && f.always
		return t, nil
	case o.Effort == model.EffortDefault:
		switch f.thinks {
		case claudeBudget:
			const least = 1024 // says the API
			t.budget = max(o.Thinking, least)
		case claudeDecides:
			t.adaptive = true
		case novaEffort, wordEffort:
			t.effort = effort(o.Thinking)
		default: // it decides for itself
		}
		return t, nil
	case o.Effort == model.EffortNone:
		if f.off == never {
			return t, m.noEffort(o.Effort, "it cannot be kept from reasoning")
		}
		return thought{off: f.off}, nil
	}
	word := string(o.Effort)
	if f.thinks == claudeBudget {
		t.budget, t.shrinks = budgets[o.Effort], true
		if t.budget == 0 {
			return t, m.noEffort(o.Effort, "it has low, medium, high and max")
		}
		return t, nil
	}
	if o.Effort == model.EffortMax && len(f.efforts) > 0 {
		word = f.efforts[len(f.efforts)-1]
	}
	switch {
	case len(f.efforts) == 0:
		return t, m.noEffort(o.Effort, "it has none")
	case !slices.Contains(f.efforts, word):
		return t, m.noEffort(o.Effort, "it has other ones")
	}
	t.effort, t.adaptive = word, f.thinks == claudeDecides
	return t, nil
}

func (m *Model) noEffort(e model.Effort, why string) error {
	return notSent(event.ErrUnsupported, "the model %q does not have the effort %q on Amazon Bedrock: %s",
		"leave the effort out, or take another one",
		m.name, string(e), why)
}

// never is family.off for models whose thinking cannot be switched off.
const never = "never"

// think sets the model's own parameters for thinking. It returns max_tokens, which includes
// thinking.
func (m *Model) think(req *model.Request, without bool, set func(key, value string)) (most int, err error) {
	o := &req.Options
	most = o.MaxTokens
	t, err := m.thought(req)
	if err != nil {
		return 0, err
	}
	if forced(req) {
		m.thinkForced(req, t, set)
		return most, nil
	}
	switch {
	case t.off != "" && t.off != never:
		set("thinking", `{"type":"`+t.off+`"}`)
	case t.budget > 0:
		return m.thinkBudget(req, t, without, set)
	case t.adaptive:
		thinking := `{"type":"adaptive"}`
		if t.display {
			thinking = `{"type":"adaptive","display":"summarized"}`
		}
		set("thinking", thinking)
		m.setEffort(req, t.effort, set)
	case t.effort != "" && m.family.thinks == wordEffort:
		set("reasoning_effort", `"`+t.effort+`"`)
	case t.effort != "":
		set("reasoningConfig", `{"type":"enabled","maxReasoningEffort":"`+t.effort+`"}`)
		if t.effort == "high" {
			if o.TopP != nil || o.Temperature != nil {
				return 0, notSent(event.ErrUnsupported, "the model %q takes neither a temperature nor a top_p while it reasons with high effort",
					"leave both out, or ask for less effort", m.name)
			}
			most = 0 // the two exclude each other
		}
	}
	return most, nil
}

// thinkForced sets Claude's effort for a forced tool call, which rules out thinking. Without
// thinking, the effort is at most high (API_runtime_OutputConfig).
func (m *Model) thinkForced(req *model.Request, t thought, set func(key, value string)) {
	if t.effort != "" && m.family.thinks == claudeDecides {
		if t.effort == "xhigh" || t.effort == string(model.EffortMax) {
			t.effort = string(model.EffortHigh)
		}
		m.setEffort(req, t.effort, set)
	}
}

// setEffort writes Claude's effort. If the answer has a schema, the effort goes into Converse's
// own outputConfig with it.
func (m *Model) setEffort(req *model.Request, effort string, set func(key, value string)) {
	if effort != "" && req.Output == nil {
		set("output_config", `{"effort":"`+effort+`"}`)
	}
}

// thinkBudget sets a token budget for thinking.
func (m *Model) thinkBudget(req *model.Request, t thought, without bool, set func(key, value string)) (most int, err error) {
	most = req.Options.MaxTokens
	const least = 1024
	if t.shrinks && most > 0 {
		t.budget = min(t.budget, max(most-least, least))
	}
	switch {
	case m.midTurnWithoutThinking(req.Messages, without):
		return most, nil
	case most > 0 && t.budget >= most:
		return 0, notSent(event.ErrInvalid, "a budget of %d tokens for thinking leaves none of %d for the answer",
			"allow more tokens for the answer: thinking counts as part of it", t.budget, most)
	case most <= 0:
		most = t.budget + answerTokens
	}
	set("thinking", `{"type":"enabled","budget_tokens":`+strconv.Itoa(t.budget)+`}`)
	return most, nil
}
