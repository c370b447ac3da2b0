package models

import (
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/openai"
)

// ownProviders returns the providers with an API of their own. [openers] opens their models.
func ownProviders() []provider {
	return []provider{
		{
			name: "anthropic", title: "Anthropic", keys: []string{anthropic.KeyVariable},
			families: []string{"claude"}, model: "anthropic:" + anthropic.Default,
		},
		{
			name: "openai", title: "OpenAI", keys: []string{openai.KeyVariable},
			families: []string{"gpt", "chatgpt", "o1", "o3", "o4"}, model: "openai:" + openai.Default,
			names: "its server does",
		},
		{
			name: "gemini", title: "Gemini", keys: []string{gemini.KeyVariable, gemini.OtherKeyVariable},
			families: []string{"gemini"}, model: "gemini:" + gemini.Default,
		},
		{
			name: "bedrock", title: "Bedrock", names: "AWS does", keys: []string{bedrock.KeyVariable, awsProfile, awsKeyID},
			families: []string{"amazon.", "anthropic.", "meta.", "us.", "eu.", "jp.", "au.", "apac.", "global."},
			model:    "bedrock:" + bedrock.Default,
			needs: func(env func(string) string) string {
				if anySet(env, bedrock.KeyVariable, awsRegion, awsDefaultRegion) {
					return ""
				}
				return "no AWS region is named: set " + awsRegion
			},
		},
		{
			name: "vertex", title: "Vertex AI", names: "Google does", keys: []string{googleKey, googleFile},
			model: "vertex:" + gemini.Default, needs: vertexNeeds,
		},
		{
			name: "azure", title: "Azure OpenAI", names: "its deployment is called", keys: []string{azureKey, azureOtherKey},
		},
		{
			name: "ollama", title: "Ollama", names: "\"ollama list\" does",
			families: []string{"llama", "qwen", "mistral", "gemma", "phi", "deepseek"},
		},
		{
			name: "demo", title: "demo",
		},
	}
}

// providers returns the providers in the order in which keys are looked for: those with an API of
// their own, then the vendors.
func providers() []provider { return append(ownProviders(), DefaultVendors().providers()...) }

func providerOf(name string) (provider, bool) { return providerIn(providers(), name) }

// vertexNeeds returns what is missing beside a variable with credentials.
func vertexNeeds(env func(string) string) string {
	if anySet(env, googleKey, googleProject, googleOtherProject) {
		return ""
	}
	return "no project of Google Cloud is named: set " + googleProject
}
