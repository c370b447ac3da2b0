package models

import (
	"cmp"

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
