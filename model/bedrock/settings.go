package bedrock

import (
	"net/http"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
)

// unkept returns an error for a setting that the model or the API lacks.
func (m *setup) unkept(req *model.Request) error {
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
func (m *setup) sampled(req *model.Request) error {
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
func (m *setup) speed(o *model.Options) (latency, tier string) {
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
func (m *setup) served(req *model.Request) ([]byte, error) {
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
