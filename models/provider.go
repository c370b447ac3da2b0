package models

import "strings"

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

// ownNames returns the names of ownProviders; a test compares them.
func ownNames() []string {
	return []string{"anthropic", "openai", "gemini", "bedrock", "vertex", "azure", "ollama", "demo"}
}

func providerIn(list []provider, name string) (provider, bool) {
	for _, p := range list {
		if p.name == name {
			return p, true
		}
	}
	return provider{}, false
}
