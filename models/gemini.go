package models

import (
	"cmp"
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/gemini"
)

// openGemini opens "", which is the vendor's model for most work, or a model by
// the vendor's name. The key is GEMINI_API_KEY or, where that is not set,
// GOOGLE_API_KEY; GOOGLE_GEMINI_BASE_URL, where it is set, is the address of a gateway.
func openGemini(g *opening) (model.Model, error) {
	name := cmp.Or(g.name, gemini.Default)
	if presentable(name) == "" {
		return nil, g.noSuch(gemini.Default)
	}
	var base, key string
	var stall *time.Duration
	err := g.settings(gemini.Default+"?stall=10m", map[string]setting{
		"base": address(&base), "key": keyIn(&key), "stall": patience(&stall),
	})
	if err != nil {
		return nil, err
	}
	asked := base != ""
	if !asked {
		base = g.variable(gemini.BaseVariable)
	}
	g.place = host(base, "generativelanguage.googleapis.com")
	opts := []gemini.Option{gemini.BaseURL(base)}
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
