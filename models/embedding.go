package models

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/bedrock"
	"github.com/braidrun/braid/embedding/gemini"
	"github.com/braidrun/braid/embedding/ollama"
	"github.com/braidrun/braid/embedding/openai"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
)

// OpenEmbedding opens the model that ref names for embedding texts, such as
// "openai:text-embedding-3-small", "gemini:gemini-embedding-2",
// "bedrock:amazon.titan-embed-text-v2:0", "ollama:nomic-embed-text", or a vendor's model,
// "mistral:mistral-embed". Keys, addresses, settings (base, key; for Bedrock region, profile, as)
// and errors are those of [Open]. Only openai, gemini and bedrock have a default model. Its
// responses have their cost, from pricing.Default().
//
// A reference may name addresses and variables, so it must come from whoever runs the program.
func OpenEmbedding(ref string) (embedding.Model, error) {
	o, err := NewOpener(Options{Env: os.Getenv})
	if err != nil {
		return nil, err
	}
	return o.OpenEmbedding(ref)
}

// OpenEmbedding is the function [OpenEmbedding] with the opener's environment, prices and vendors.
// The opener's limits do not apply to these calls.
func (o *Opener) OpenEmbedding(ref string) (embedding.Model, error) {
	name, rest := ref, ""
	if i := strings.IndexAny(ref, ":?"); i >= 0 {
		name, rest = ref[:i], strings.TrimPrefix(ref[i:], ":")
	}
	p, known := providerIn(o.providers, name)
	open := embedders[name]
	if p.vendor != nil {
		open = openVendorEmbedding
	}
	if !known || open == nil {
		return nil, noEmbedding(ref)
	}
	g := &opening{env: o.env, provider: p, trusted: true}
	g.name, g.query, g.asked = strings.Cut(rest, "?")
	m, err := open(g)
	if err != nil {
		return nil, err
	}
	priced := &pricedEmbedding{Model: m, info: m.Info()}
	prices, place := o.prices, g.place
	priced.info.Cost = func(u event.Usage) (int64, bool) { return prices.Cost(priced.info.Name, place, time.Now(), u) }
	return priced, nil
}

// embedders open the models of the providers with an API of their own.
var embedders = map[string]func(*opening) (embedding.Model, error){
	"openai": openOpenAIEmbedding, "gemini": openGeminiEmbedding, "bedrock": openBedrockEmbedding, "ollama": openOllamaEmbedding,
}

// noEmbedding returns the error for a reference without an embedding model.
func noEmbedding(ref string) error {
	e := &event.Error{
		Op: op, Kind: event.ErrModelNotFound, Message: "there is no such model of embeddings",
		Hint: "name one as openai:" + openai.Default + ", gemini:NAME, bedrock:ID, ollama:NAME or VENDOR:NAME",
	}
	if shown := presentable(ref); shown != "" {
		e.Message = "there is no model of embeddings \"" + shown + "\""
		for _, known := range pricing.Default().Embeddings() {
			if _, name, _ := strings.Cut(known, ":"); name == ref {
				e.Hint = "did you mean " + known + "? " + e.Hint
				break
			}
		}
	}
	return e
}

// where returns a server's address and key, from the settings that all of these providers have.
func (g *opening) where(example, variable, vendorsHost string) (base, key string, asked bool, err error) {
	if err := g.settings(example+"?base=https://host", map[string]setting{"base": address(&base), "key": keyIn(&key)}); err != nil {
		return "", "", false, err
	}
	asked = base != ""
	if !asked && variable != "" {
		base = g.variable(variable)
	}
	g.place = host(base, vendorsHost)
	return base, key, asked, nil
}

func openOpenAIEmbedding(g *opening) (embedding.Model, error) {
	base, named, asked, err := g.where(openai.Default, openai.BaseVariable, "api.openai.com")
	if err != nil {
		return nil, err
	}
	key := g.secretOf(named, openai.KeyVariable, asked && g.place != "")
	if key.Empty() && (named != "" || g.place == "") {
		return nil, g.noKey(openai.KeyVariable, asked)
	}
	return embedder(openai.New(cmp.Or(g.name, openai.Default), key, openai.BaseURL(base), openai.Sources(g.sources(asked))))
}

// openVendorEmbedding opens a model of a vendor with OpenAI's API.
func openVendorEmbedding(g *opening) (embedding.Model, error) {
	row := g.provider.vendor
	if g.name == "" {
		return nil, g.noSuch("NAME")
	}
	base, named, asked, err := g.where("NAME", "", "")
	if err != nil {
		return nil, err
	}
	key := g.secretOf(named, row.Key, asked)
	if key.Empty() && (named != "" || row.Key != "" && !asked) {
		return nil, g.noKey(row.Key, asked)
	}
	return embedder(openai.New(g.name, key, openai.BaseURL(cmp.Or(base, row.Address)),
		openai.Named(row.Name, row.Title), openai.Sources(g.sources(true))))
}

func openGeminiEmbedding(g *opening) (embedding.Model, error) {
	base, named, asked, err := g.where(gemini.Default, gemini.BaseVariable, "generativelanguage.googleapis.com")
	if err != nil {
		return nil, err
	}
	usual := gemini.KeyVariable
	if g.variable(usual) == "" && g.variable(gemini.OtherKeyVariable) != "" {
		usual = gemini.OtherKeyVariable
	}
	key := g.secretOf(named, usual, asked && g.place != "")
	if key.Empty() {
		return nil, g.noKey(gemini.KeyVariable, asked)
	}
	return embedder(gemini.New(cmp.Or(g.name, gemini.Default), key, gemini.BaseURL(base), gemini.Sources(g.sources(asked))))
}

func openOllamaEmbedding(g *opening) (embedding.Model, error) {
	if g.name == "" {
		return nil, g.noSuch("nomic-embed-text")
	}
	base, named, _, err := g.where("nomic-embed-text", "", "")
	if err != nil {
		return nil, err
	}
	var key secret.Secret
	if named != "" {
		if key = g.secretOf(named, "", true); key.Empty() {
			return nil, g.noKey("", true)
		}
	}
	g.place = host(cmp.Or(base, ollama.Base), "")
	return embedder(ollama.New(g.name, ollama.BaseURL(base), ollama.Key(key)))
}

func openBedrockEmbedding(g *opening) (embedding.Model, error) {
	id := cmp.Or(g.name, bedrock.Default)
	if !bedrockIDs.MatchString(id) {
		return nil, g.noSuch(bedrock.Default)
	}
	var base, key, region, profile, as string
	err := g.settings(bedrock.Default+"?region=eu-west-1", map[string]setting{
		"base": address(&base), "key": keyIn(&key),
		"region":  func(v string) bool { region = v; return awsRegions.MatchString(v) },
		"profile": func(v string) bool { profile = v; return v != "" },
		"as":      func(v string) bool { as = v; return bedrockIDs.MatchString(v) },
	})
	if err != nil {
		return nil, err
	}
	if base == "" {
		base = g.variable(awsEndpoint)
	}
	cfg, err := g.aws(id, region, profile, key)
	if err != nil {
		return nil, err
	}
	g.place = cfg.Region
	opts := []bedrock.Option{bedrock.BaseURL(base)}
	if as != "" {
		opts = append(opts, bedrock.As(as))
	}
	return embedder(bedrock.New(id, cfg, opts...))
}

// embedder turns a nil pointer into a nil interface.
func embedder[M embedding.Model](m M, err error) (embedding.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// pricedEmbedding is a model with its costs, if they are known.
type pricedEmbedding struct {
	embedding.Model

	info embedding.Info
}

// Info implements [embedding.Model].
func (m *pricedEmbedding) Info() embedding.Info { return m.info }

// Unwrap returns the wrapped model.
func (m *pricedEmbedding) Unwrap() embedding.Model { return m.Model }

// Embed implements [embedding.Model].
func (m *pricedEmbedding) Embed(ctx context.Context, req *embedding.Request) (*embedding.Response, error) {
	r, err := m.Model.Embed(ctx, req)
	if err != nil || r.UsageUnknown {
		return r, err
	}
	if nano, known := m.info.Cost(r.Usage); known {
		r.CostNanoUSD = &nano
	}
	return r, nil
}
