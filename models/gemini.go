package models

import (
	"cmp"
	"strings"
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
)

// openGemini opens a model by the vendor's name; "" is the vendor's default. The key is
// GEMINI_API_KEY or else GOOGLE_API_KEY. GOOGLE_GEMINI_BASE_URL may be the address of a gateway.
func openGemini(g *opening) (model.Model, error) {
	name := cmp.Or(g.name, gemini.Default)
	if presentable(name) == "" {
		return nil, g.noSuch(gemini.Default)
	}
	var base, key string
	var stall *time.Duration
	s := geminiSettings{}
	err := g.settings(gemini.Default+"?effort=low", together(g.optionSettings(&g.defaults), s.known(), map[string]setting{
		"base": address(&base), "key": keyIn(&key), "stall": patience(&stall),
	}))
	if err != nil {
		return nil, err
	}
	asked := base != ""
	if !asked {
		base = g.variable(gemini.BaseVariable)
	}
	g.place = host(base, "generativelanguage.googleapis.com")
	opts := append(s.options(), gemini.BaseURL(base))
	if stall != nil {
		opts = append(opts, gemini.Stall(*stall))
	}
	usual := gemini.KeyVariable
	if g.variable(usual) == "" && g.variable(gemini.OtherKeyVariable) != "" {
		usual = gemini.OtherKeyVariable
	}
	secret := g.secretOf(key, usual, asked && g.place != "")
	if secret.Empty() {
		return nil, g.noKey(gemini.KeyVariable, asked)
	}
	m, err := gemini.New(name, secret, append(opts, gemini.Sources(g.sources(asked)))...)
	if err != nil {
		if asked {
			return nil, err
		}
		return nil, from(err, gemini.BaseVariable, base)
	}
	return m, nil
}

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
