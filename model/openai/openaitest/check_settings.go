package openaitest

import (
	"encoding/json"
	"slices"
	"strings"
)

// efforts returns a model's efforts (enricoros/big-AGI#1159; for GPT-6 Astra UKGovernmentBEIS/inspect_ai#5254, and
// BerriAI/litellm-docs#1173 for those in Chat Completions).
func efforts(model string, chat bool) []string {
	words := strings.Fields
	is := func(prefix string) bool { return strings.HasPrefix(model, prefix) }
	_, version, _ := strings.Cut(model, "gpt-5.")
	switch {
	case is("o"):
		return words("low medium high")
	case is("gpt-5-pro"):
		return words("high")
	case is("gpt-5-codex"), is("gpt-5.1-codex") && !is("gpt-5.1-codex-max"):
		return words("low medium high")
	case is("gpt-5.1-codex-max"):
		return words("low medium high xhigh")
	case is("gpt-5.1"):
		return words("none low medium high")
	case version >= "6":
		return words("none low medium high xhigh max")
	case version != "" && strings.Contains(model, "-pro"):
		return words("medium high xhigh")
	case version != "" && strings.Contains(model, "-codex"):
		return words("low medium high xhigh")
	case version != "":
		return words("none low medium high xhigh")
	case is("gpt-5"):
		return words("minimal low medium high")
	case is("gpt-6-astra") && chat:
		return words("low medium high xhigh")
	case is("gpt-6-astra"):
		return words("low medium high xhigh max")
	default:
		return words("none low medium high xhigh max")
	}
}

// tried checks an effort.
func (c *checker) tried(word string, chat bool) {
	c.effort = word
	if c.server.Compatible {
		words := "none minimal low medium high" // Ollama's
		switch c.host {
		case "api.groq.com":
			words = "none default low medium high"
		case "api.deepseek.com":
			words = "low medium high max"
		}
		if !slices.Contains(strings.Fields(words), word) {
			c.fail("invalid reasoning value: '%s' (must be \"high\", \"medium\", \"low\", or \"none\")", word)
		}
		return
	}
	all := strings.Fields("none minimal low medium high xhigh max")
	if !slices.Contains(all, word) {
		c.code = "invalid_value"
		c.fail("Invalid value: '%s'. Supported values are: '%s'.", word, strings.Join(all, "', '"))
	}
	if words := efforts(c.model, chat); !slices.Contains(words, word) {
		c.code = "unsupported_value"
		c.fail("Unsupported value: '%s' is not supported with the '%s' model. Supported values are: '%s'.",
			word, c.model, strings.Join(words, "', '"))
	}
}

func (c *checker) share(o object) {
	var p float64
	if raw, ok := o["top_p"]; ok && (json.Unmarshal(raw, &p) != nil || p < 0 || p > 1) {
		c.fail("Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got %s instead.", raw)
	}
}

// after reports whether the model is GPT-5 or later, of this version or a later one.
func (c *checker) after(version string) bool {
	rest, ok := strings.CutPrefix(c.model, "gpt-")
	return ok && reasoning.MatchString(c.model) && rest >= version
}

// oneOf checks that a member is one of the words.
func (c *checker) oneOf(o object, at, key string, words ...string) string {
	if _, ok := o[key]; !ok {
		return ""
	}
	word := c.str(o, at, key)
	if !slices.Contains(words, word) {
		c.code = "invalid_value"
		c.fail("Invalid value: '%s'. Supported values are: '%s'.", word, strings.Join(words, "', '"))
	}
	return word
}

// settings checks the settings with the same names in both APIs.
func (c *checker) settings(o object) {
	if c.server.Compatible {
		return
	}
	c.oneOf(o, "", "service_tier", "auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
	if word := c.oneOf(o, "", "prompt_cache_retention", "in_memory", "24h"); word == "in_memory" && c.after("5.5") {
		c.fail("Unsupported value: 'in_memory' is not supported with the '%s' model. Supported values are: '24h'.", c.model)
	}
	if raw, ok := o["prompt_cache_options"]; ok {
		c.oneOf(c.object(raw, "prompt_cache_options", "mode", "ttl"), "prompt_cache_options", "ttl", "30m", "12h")
		if !c.after("5.6") {
			c.fail("Unsupported parameter: 'prompt_cache_options' is not supported with this model.")
		}
	}
}

// verbosity checks the verbosity.
func (c *checker) verbosity(o object, at string) {
	if word := c.oneOf(o, at, "verbosity", "low", "medium", "high"); word != "" && word != "medium" && !c.after("5") && !c.server.Compatible {
		c.code = "unsupported_value"
		c.fail("Unsupported value: '%s' is not supported with the '%s' model. Supported values are: 'medium'.", word, c.model)
	}
}
