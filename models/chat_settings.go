package models

import (
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/openai"
)

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
