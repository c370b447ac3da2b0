package models

import (
	"strings"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/openai"
)

// provider is who makes models.
type provider struct {
	// name stands before the colon, title in sentences, names in a sentence about
	// who names its models.
	name, title, names string
	// keys are the environment variables that say that somebody has access.
	keys []string
	// families are how the names of its models begin, for those who leave the
	// provider out.
	families []string
	open     func(*opening) (model.Model, error)
	// model is what is used where somebody has a key and names nothing.
	model string
	// needs says what else is missing before a key is enough to be chosen by; nil
	// is nothing. AWS's credentials are there for other things too.
	needs func(env func(string) string) string
	// vendor is the row of a vendor without an API of its own; nil for the others.
	vendor *vendorRow
}

func anySet(env func(string) string, names ...string) bool {
	for _, name := range names {
		if strings.TrimSpace(env(name)) != "" {
			return true
		}
	}
	return false
}

// providers in the order in which a key is looked for: those with an API of their own,
// and then the vendors.
func providers() []provider { return append(ownProviders(), DefaultVendors().providers()...) }

// ownNames are the names of ownProviders; a test holds that.
func ownNames() []string {
	return []string{"anthropic", "openai", "gemini", "bedrock", "vertex", "azure", "ollama", "demo"}
}

func ownProviders() []provider {
	return []provider{
		{
			name: "anthropic", title: "Anthropic", keys: []string{anthropic.KeyVariable},
			families: []string{"claude"}, open: openAnthropic, model: "anthropic:" + anthropic.Default,
		},
		{
			name: "openai", title: "OpenAI", keys: []string{openai.KeyVariable},
			families: []string{"gpt", "chatgpt", "o1", "o3", "o4"}, open: openOpenAI, model: "openai:" + openai.Default,
			names: "its server does",
		},
		{
			name: "gemini", title: "Gemini", keys: []string{gemini.KeyVariable, gemini.OtherKeyVariable},
			families: []string{"gemini"}, open: openGemini, model: "gemini:" + gemini.Default,
		},
		{
			name: "bedrock", title: "Bedrock", names: "AWS does", keys: []string{bedrock.KeyVariable, awsProfile, awsKeyID},
			families: []string{"amazon.", "anthropic.", "meta.", "us.", "eu.", "jp.", "au.", "apac.", "global."},
			open:     openBedrock, model: "bedrock:" + bedrock.Default,
			needs: func(env func(string) string) string {
				if anySet(env, bedrock.KeyVariable, awsRegion, awsDefaultRegion) {
					return ""
				}
				return "no AWS region is named: set " + awsRegion
			},
		},
		{
			name: "vertex", title: "Vertex AI", names: "Google does", keys: []string{googleKey, googleFile},
			open: openVertex, model: "vertex:" + gemini.Default, needs: vertexNeeds,
		},
		{
			name: "azure", title: "Azure OpenAI", names: "its deployment is called", keys: []string{azureKey, azureOtherKey}, open: openAzure,
		},
		{
			name: "ollama", title: "Ollama", names: "\"ollama list\" does",
			families: []string{"llama", "qwen", "mistral", "gemma", "phi", "deepseek"}, open: openOllama,
		},
		{
			name: "demo", title: "demo", open: openDemo,
		},
	}
}

func providerOf(name string) (provider, bool) { return providerIn(providers(), name) }

func providerIn(list []provider, name string) (provider, bool) {
	for _, p := range list {
		if p.name == name {
			return p, true
		}
	}
	return provider{}, false
}

// Names lists what [Open] takes in this build: each provider, and each model
// of those whose models are known beforehand.
func Names() []string {
	names := []string{"demo"}
	for _, s := range demo.Scripts() {
		names = append(names, "demo:"+s)
	}
	return append(names, "anthropic", "openai", "gemini", "bedrock")
}

func have() string {
	vendors := DefaultVendors().rows
	named := make([]string, len(vendors))
	for i := range vendors {
		named[i] = vendors[i].Name
	}
	return "this build has " + strings.Join(Names(), ", ") + "; ollama:NAME for a model of this machine's Ollama; and NAMEs of models at " +
		strings.Join(named, ", ")
}
