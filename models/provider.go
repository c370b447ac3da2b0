package models

import (
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/model/openai"
)

// provider is who makes models. One without open is known, but not in this build.
type provider struct {
	// name stands before the colon, title in sentences.
	name  string
	title string
	// keys are the environment variables that say that somebody has access.
	keys []string
	// families are how the names of its models begin, for those who leave the
	// provider out.
	families []string
	open     func(env func(string) string, rest string) (braid.Model, error)
	// model is what is used where somebody has a key and names nothing.
	model string
}

// providers in the order in which a key is looked for.
func providers() []provider {
	return []provider{
		{
			name: "anthropic", title: "Anthropic", keys: []string{anthropic.KeyVariable},
			families: []string{"claude"}, open: openAnthropic, model: "anthropic:" + anthropic.Default,
		},
		{
			name: "openai", title: "OpenAI", keys: []string{openai.KeyVariable},
			families: []string{"gpt", "chatgpt", "o1", "o3", "o4"}, open: openOpenAI, model: "openai:" + openai.Default,
		},
		{
			name: "gemini", title: "Gemini", keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			families: []string{"gemini"},
		},
		{
			name: "bedrock", title: "Bedrock", keys: []string{"AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"},
			families: []string{"amazon.", "anthropic.", "meta.", "us.", "eu.", "apac.", "global."},
		},
		{
			name: "ollama", title: "Ollama",
			families: []string{"llama", "qwen", "mistral", "gemma", "phi", "deepseek"}, open: openOllama,
		},
		{
			name: "demo", title: "demo",
			open: func(_ func(string) string, rest string) (braid.Model, error) { return openDemo(rest) },
		},
	}
}

func providerOf(name string) (provider, bool) {
	for _, p := range providers() {
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
	return append(names, "anthropic", "openai")
}

func have() string {
	return "this build has " + strings.Join(Names(), ", ") + ", and ollama:NAME for a model of this machine's Ollama"
}
