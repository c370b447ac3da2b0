package anthropic

import (
	"cmp"
	"maps"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
)

// Defaults sets options for requests that leave them out. A request's Effort or Thinking
// replaces both defaults. Extra and Headers are merged by key.
func Defaults(o model.Options) Option {
	return func(m *Model) error {
		m.defaults = &o
		return nil
	}
}

// Betas enables betas of the API by name (api/beta-headers). They are sent in the header
// anthropic-beta, or on Amazon Bedrock in the body.
func Betas(names ...string) Option {
	return func(m *Model) error {
		for _, name := range names {
			if !betaNames.MatchString(name) {
				return wrong("the name of a beta is not valid", "write it as the vendor does, such as fast-mode-2026-02-01")
			}
		}
		m.extraBetas = append(m.extraBetas, names...)
		return nil
	}
}

var betaNames = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// filled returns req, with the model's defaults for the settings that req leaves out.
func (m *Model) filled(req *model.Request) *model.Request {
	if req == nil || m.defaults == nil {
		return req
	}
	own, d, o := *req, m.defaults, &req.Options
	to := &own.Options
	to.MaxTokens = cmp.Or(o.MaxTokens, d.MaxTokens)
	if o.Effort == "" && o.Thinking == 0 {
		to.Effort, to.Thinking = d.Effort, d.Thinking
	}
	if o.Temperature == nil && o.TopP == nil {
		to.Temperature, to.TopP = d.Temperature, d.TopP
	}
	if o.Seed == nil {
		to.Seed = d.Seed
	}
	if o.StopWords == nil {
		to.StopWords = d.StopWords
	}
	to.ShowThinking = o.ShowThinking || d.ShowThinking
	to.Verbosity = cmp.Or(o.Verbosity, d.Verbosity)
	to.ServiceTier = cmp.Or(o.ServiceTier, d.ServiceTier)
	if o.ServerTools == nil {
		to.ServerTools = d.ServerTools
	}
	if !o.Context.Any() {
		to.Context = d.Context
	}
	to.Extra, to.Headers = joined(d.Extra, o.Extra), joined(d.Headers, o.Headers)
	return &own
}

// joined merges two maps. Values of over take precedence.
func joined[V any](under, over map[string]V) map[string]V {
	switch {
	case len(under) == 0:
		return over
	case len(over) == 0:
		return under
	}
	all := maps.Clone(under)
	maps.Copy(all, over)
	return all
}

// ownHeaders and ownMembers are the header fields and body members that callers may not set.
var (
	ownHeaders = []string{"Anthropic-Version", "X-Amz-Date", "X-Amz-Content-Sha256", "X-Amzn-Bedrock-Accept", "X-Amz-User-Agent"}
	ownMembers = []string{
		"model", "messages", "system", "tools", "tool_choice", "mcp_servers", "thinking", "max_tokens", "temperature", "top_p", "stop_sequences",
		"output_config", "service_tier", "context_management", "cache_control", "stream", "anthropic_version", "anthropic_beta",
	}
)

// betaHeader is the header field with the names of betas.
const betaHeader = "Anthropic-Beta"
