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

// provider is a provider of models.
type provider struct {
	// name is the part before the colon.
	name string
	// title is the name in messages.
	title string
	// names is who names its models, for messages.
	names string
	// keys are the environment variables that show that the user has access.
	keys []string
	// families are the prefixes of its models' names, for references without a provider.
	families []string
	open     func(*opening) (model.Model, error)
	// model is the default model for users with a key.
	model string
	// needs returns what else is required before a key selects the provider; nil means nothing.
	// AWS's credentials exist for other purposes too.
	needs func(env func(string) string) string
	// vendor is the row of a vendor without an API of its own. It is nil for the others.
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

// providers returns the providers in the order in which keys are looked for: those with an API of
// their own, then the vendors.
func providers() []provider { return append(ownProviders(), DefaultVendors().providers()...) }

// ownNames returns the names of ownProviders; a test compares them.
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

// Names lists the names that [Open] accepts in this build: each provider, and each model of the
// providers with a fixed list.
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
