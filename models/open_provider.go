package models

import "github.com/braidrun/braid/model"

// openers open the models of the providers with an API of their own.
var openers = map[string]func(*opening) (model.Model, error){
	"anthropic": openAnthropic, "openai": openOpenAI, "gemini": openGemini, "bedrock": openBedrock,
	"vertex": openVertex, "azure": openAzure, "ollama": openOllama, "demo": openDemo,
}

// open opens the model.
func (g *opening) open() (model.Model, error) {
	if g.provider.vendor != nil {
		return openVendor(g)
	}
	return openers[g.provider.name](g)
}
