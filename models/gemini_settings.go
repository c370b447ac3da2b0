package models

import (
	"strings"

	"github.com/braidrun/braid/model/gemini"
)

// geminiSettings are the settings that only Gemini has, on both of its APIs.
type geminiSettings struct {
	// level is the vendor's thinking level.
	level string
	// cached names cached content.
	cached string
	// thoughts says whether summaries of thoughts are shown; nil leaves that to the request.
	thoughts *bool
}

func (s *geminiSettings) known() map[string]setting {
	return map[string]setting{
		"level": word(&s.level, "minimal", "low", "medium", "high"), "cached": address(&s.cached),
		"thoughts": func(v string) bool {
			show := v == "yes"
			s.thoughts = &show
			return show || v == "no"
		},
	}
}

// options returns the model's options.
func (s *geminiSettings) options() []gemini.Option {
	var opts []gemini.Option
	if s.level != "" {
		opts = append(opts, gemini.ThinkingLevel(gemini.Level(strings.ToUpper(s.level))))
	}
	if s.thoughts != nil {
		opts = append(opts, gemini.IncludeThoughts(*s.thoughts))
	}
	if s.cached != "" {
		opts = append(opts, gemini.CachedContent(s.cached))
	}
	return opts
}
