package models

import (
	"cmp"
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/secret"
)

// openOpenAI opens a model by its server's name; "" is the vendor's default. The key is
// OPENAI_API_KEY. OPENAI_BASE_URL may be the address of another server, which may need no key.
func openOpenAI(g *opening) (model.Model, error) {
	name := cmp.Or(g.name, openai.Default)
	if presentable(name) == "" {
		return nil, g.noSuch(openai.Default)
	}
	s := chatSettings{}
	if err := g.settings(openai.Default+"?effort=high", s.known(g)); err != nil {
		return nil, err
	}
	asked := s.base != ""
	if !asked {
		s.base = g.variable(openai.BaseVariable)
	}
	g.place = host(s.base, "api.openai.com")
	key := g.secretOf(s.key, openai.KeyVariable, asked && g.place != "")
	if s.key != "" && key.Empty() || key.Empty() && g.place == "" {
		return nil, g.noKey(openai.KeyVariable, asked)
	}
	m, err := openai.New(name, key, append(s.options(), openai.Sources(g.sources(asked)))...)
	if err != nil {
		if asked {
			return nil, err
		}
		return nil, from(err, openai.BaseVariable, s.base)
	}
	return m, nil
}

// openOllama opens a model of the Ollama server on this machine. There is no key and no default
// model.
func openOllama(g *opening) (model.Model, error) {
	if g.name == "" || presentable(g.name) == "" {
		return nil, g.noSuch("qwen3")
	}
	s := chatSettings{base: openai.Ollama}
	if err := g.settings("qwen3?stall=10m", s.known(g)); err != nil {
		return nil, err
	}
	g.place = host(s.base, "")
	key := secret.Secret{}
	if s.key != "" {
		if key = g.secretOf(s.key, "", true); key.Empty() {
			return nil, g.noKey("", true)
		}
	}
	m, err := openai.New(g.name, key, append(s.options(), openai.Named("ollama"), openai.Sources(g.sources(true)))...)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// chatSettings are the settings of every server with OpenAI's protocols.
type chatSettings struct {
	base, key, api, reasons string
	// thinking overrides what is known of the server.
	thinking string
	// usage overrides what is known of the server.
	usage string
	// cacheKey is for the vendor's prompt cache.
	cacheKey string
	// retention is for the vendor's prompt cache.
	retention string
	strict    bool
	stall     *time.Duration
}

// known returns the settings of the server and those that are options of each request.
func (s *chatSettings) known(g *opening) map[string]setting {
	o := &g.defaults
	var tried, truncation string
	effort := word(&tried, "none", "minimal", "low", "medium", "high", "xhigh", "max")
	place := word(&s.thinking, "reasoning_content", "reasoning", "parts", "details", "none")
	return together(g.optionSettings(o), map[string]setting{
		"base": address(&s.base), "key": keyIn(&s.key), "stall": patience(&s.stall),
		"api": word(&s.api, "responses", "chat"), "reasons": word(&s.reasons, "yes", "no"),
		"effort": func(v string) bool { o.Effort = model.Effort(v); return effort(v) },
		// A number is a budget, a word is the place of thoughts in requests.
		"thinking": func(v string) bool {
			if budget(&o.Thinking)(v) {
				return true
			}
			o.Thinking = 0
			return place(v)
		},
		"usage":           word(&s.usage, "yes", "no"),
		"cache_key":       address(&s.cacheKey),
		"cache_retention": word(&s.retention, "in_memory", "24h", "30m", "12h"),
		"strict":          yes(&s.strict),
		"truncation":      func(v string) bool { o.Context.Truncate = v == "auto"; return word(&truncation, "auto", "disabled")(v) },
		"compact":         budget(&o.Context.Compact),
	})
}

// over applies the settings to what is known of the server.
func (s *chatSettings) over(d *openai.Dialect) {
	if s.thinking != "" {
		d.Thinking = openai.ThinkingPlace(s.thinking)
	}
	if s.usage != "" {
		d.NoUsage = s.usage == "no"
	}
}

func (s *chatSettings) options() []openai.Option {
	opts := []openai.Option{openai.BaseURL(s.base)}
	switch s.api {
	case "responses":
		opts = append(opts, openai.Use(openai.Responses))
	case "chat":
		opts = append(opts, openai.Use(openai.ChatCompletions))
	}
	if s.cacheKey != "" {
		opts = append(opts, openai.CacheKey(s.cacheKey))
	}
	if s.retention != "" {
		opts = append(opts, openai.CacheRetention(s.retention))
	}
	if s.strict {
		opts = append(opts, openai.StrictTools(true))
	}
	if s.reasons != "" {
		opts = append(opts, openai.Reasons(s.reasons == "yes"))
	}
	if s.stall != nil {
		opts = append(opts, openai.Stall(*s.stall))
	}
	if s.thinking != "" || s.usage != "" {
		var d openai.Dialect
		s.over(&d)
		opts = append(opts, openai.Speaks(d))
	}
	return opts
}
