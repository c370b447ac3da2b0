package models

import (
	"cmp"
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
