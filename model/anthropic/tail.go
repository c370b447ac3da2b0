package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
)

// tail returns the request's members after the messages, without the bracket that closes
// the messages.
func (m *Model) tail(req *model.Request, without bool) ([]byte, error) {
	if err := m.refused(req); err != nil {
		return nil, err
	}
	t, err := m.try(req, without)
	if err != nil {
		return nil, err
	}
	o := &req.Options
	b := make([]byte, 0, 192)
	if t.thinking != "" {
		b = append(append(b, `,"thinking":`...), t.thinking...)
	}
	b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(t.most), 10)
	if b, err = m.appendSampling(b, o, t.thinks); err != nil {
		return nil, err
	}
	b = appendStops(b, o.StopWords)
	if b, err = appendChoice(b, req); err != nil {
		return nil, err
	}
	if b, err = m.appendOutput(b, req.Output, t.word); err != nil {
		return nil, err
	}
	if b, err = m.appendTier(b, o.ServiceTier); err != nil {
		return nil, err
	}
	b = appendServers(b, o.ServerTools)
	if b, err = m.appendContext(b, &o.Context); err != nil {
		return nil, err
	}
	switch m.platform() {
	case onBedrock:
		b = append(b, `,"anthropic_version":"`+bedrockVersion+`"`...)
		b = appendStrings(b, "anthropic_beta", m.betas(req))
	case onVertex:
		b = append(b, `,"anthropic_version":"`+vertexVersion+`"`...)
	default:
	}
	if m.cache == CacheAuto {
		b = append(append(b, ','), m.cachePoint()...)
	}
	if m.platform() != onBedrock { // on Bedrock the path says so
		b = append(b, `,"stream":true`...)
	}
	if b, err = provider.AppendExtra(b, op, o.Extra, ownMembers...); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

// refused returns an error for settings that Claude does not support.
func (m *Model) refused(req *model.Request) error {
	o := &req.Options
	switch {
	case o.Seed != nil:
		return notSent(event.ErrUnsupported, "Claude takes no seed", "leave it out")
	case o.Verbosity != "":
		return notSent(event.ErrUnsupported, "Claude takes no verbosity", "say in the instructions how long answers are to be")
	case forces(req) && len(req.Tools) > 0 && !forcible(m.name):
		return notSent(event.ErrUnsupported, "the model cannot be made to call a tool",
			"leave the choice to it and say in the instructions when to call the tool; ToolSpec.Strict and an answer's schema hold its form")
	}
	return checkTools(req.Tools, o.ServerTools)
}

// appendSampling writes temperature and top_p. thinks reports that thinking is on.
func (m *Model) appendSampling(b []byte, o *model.Options, thinks bool) ([]byte, error) {
	what := "temperature"
	if o.Temperature == nil {
		what = "top_p"
	}
	switch {
	case o.Temperature == nil && o.TopP == nil:
		return b, nil
	case o.TopP != nil && !(*o.TopP > 0 && *o.TopP <= 1):
		return nil, notSent(event.ErrInvalid, "top_p is not above 0 and at most 1", "set it between, such as 0.9")
	case !m.knowsSampling():
		hint := "leave it out, or ask for the version 2023-06-01 where the model is made, which the models up to 4.6 still have"
		if m.onCloud() {
			hint = "leave it out, or take an older model"
		}
		return nil, notSent(event.ErrUnsupported, m.title()+" takes no "+what+" any more", hint)
	case o.Temperature != nil && o.TopP != nil && generation(m.name) >= 401:
		return nil, notSent(event.ErrUnsupported, "the model takes temperature or top_p, not both", "leave one out")
	case o.TopP != nil && *o.TopP < 0.95 && thinks:
		return nil, notSent(event.ErrUnsupported, "a model that thinks takes no top_p below 0.95", "leave it out, or answer without thinking")
	}
	if o.Temperature != nil {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), *o.Temperature, 'g', -1, 64)
	}
	if o.TopP != nil {
		b = strconv.AppendFloat(append(b, `,"top_p":`...), *o.TopP, 'g', -1, 64)
	}
	return b, nil
}

// knowsSampling reports whether the model and the API version support temperature and top_p.
// Opus 4.7 and later models do not, and API versions since api/migration-2026-10-21 do not.
// Amazon Bedrock and Vertex AI have an older version.
func (m *Model) knowsSampling() bool {
	old := m.platform() != onAPI || m.version != "" && m.version < "2026-10-21"
	return old && generation(m.name) < 407
}

// appendTier writes the service tier (api/service-tiers). Bedrock and Vertex AI do not take the
// tier in the body.
func (m *Model) appendTier(b []byte, tier string) ([]byte, error) {
	switch {
	case tier == "":
		return b, nil
	case m.platform() != onAPI:
		return nil, notSent(event.ErrUnsupported, m.title()+" takes no service tier with Claude", "leave it out")
	case tier != "auto" && tier != "standard_only":
		return nil, notSent(event.ErrUnsupported, "Anthropic's API has no service tier %q", "use auto or standard_only", tier)
	}
	return append(b, `,"service_tier":"`+tier+`"`...), nil
}

// appendStops writes the stop sequences. It leaves out blank ones, which the API refuses.
func appendStops(b []byte, words []string) []byte {
	n := 0
	for _, w := range words {
		if strings.TrimSpace(w) == "" {
			continue
		}
		if n++; n == 1 {
			b = append(b, `,"stop_sequences":[`...)
		}
		b = append(strictjson.AppendString(b, w), ',')
	}
	if n > 0 {
		b[len(b)-1] = ']'
	}
	return b
}

// appendChoice writes tool_choice.
func appendChoice(b []byte, req *model.Request) ([]byte, error) {
	c := &req.ToolChoice
	if len(req.Tools)+len(req.Options.ServerTools) == 0 || (c.Mode == model.ToolsFree && !c.Serial) {
		return b, nil
	}
	switch c.Mode {
	case model.ToolsFree:
		b = append(b, `,"tool_choice":{"type":"auto"`...)
	case model.ToolsAny:
		b = append(b, `,"tool_choice":{"type":"any"`...)
	case model.ToolsNone:
		return append(b, `,"tool_choice":{"type":"none"}`...), nil
	case model.ToolsOne:
		if !slices.ContainsFunc(req.Tools, func(t model.ToolSpec) bool { return t.Name == c.Tool }) {
			return nil, notSent(event.ErrInvalid, "there is no tool %q to choose", "name one of the agent's tools", c.Tool)
		}
		b = strictjson.AppendString(append(b, `,"tool_choice":{"type":"tool","name":`...), toolNames.Wire(c.Tool))
	default:
		return nil, notSent(event.ErrUnsupported, "there is no such choice of tools: %q", "use one of the known ones", string(c.Mode))
	}
	if c.Serial {
		b = append(b, `,"disable_parallel_tool_use":true`...)
	}
	return append(b, '}'), nil
}
