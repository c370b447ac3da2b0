package openai

import (
	"strings"

	"github.com/braidrun/braid/internal/lazyre"
)

var (
	// Models that reason, and models of the same families that do not (docs/models).
	reasoning = lazyre.New(`^(o\d|gpt-[5-9]|gpt-[1-9]\d|codex|computer-use)`)
	chatty    = lazyre.New(`^gpt-[\d.]+-chat`)
)

// reasons reports whether the name is that of a model that reasons before it answers. It is
// false for unknown names.
func reasons(name string) bool {
	name = plainModel(name)
	return reasoning.MatchString(name) && !chatty.MatchString(name)
}

var (
	// Models with structured outputs, and models of the same families without them
	// (guides/structured-outputs).
	holding = lazyre.New(`^(gpt-4o|gpt-4\.[1-9]|gpt-[5-9]|gpt-[1-9]\d|o\d|codex)`)
	free    = lazyre.New(`^(gpt-4o-2024-05-13|gpt-4o-(mini-)?(audio|realtime|transcribe|tts)|o1-(preview|mini))`)
)

// holds reports whether the name is that of a model with structured outputs.
func holds(name string) bool {
	name = plainModel(name)
	return holding.MatchString(name) && !free.MatchString(name)
}

// wide are the models with the large context window, small the models of these families without
// it (docs/models/gpt-5.4, gpt-5.6-sol and gpt-6.1-terra; gpt-5.4-mini).
var (
	wide  = lazyre.New(`^gpt-(5\.[4-9]|6)`)
	small = lazyre.New(`^gpt-5\.4-(mini|nano)`)
)

// window returns the context window in tokens; 0 if unknown.
func window(name string) int {
	name = plainModel(name)
	for _, f := range []struct {
		prefix string
		tokens int
	}{
		{"gpt-4.1", 1_047_576},
		{"gpt-4o", 128_000},
		{"gpt-4-turbo", 128_000},
		{"gpt-4", 8_192},
		{"gpt-3.5", 16_385},
		{"o1", 200_000},
		{"o3", 200_000},
		{"o4", 200_000},
	} {
		if strings.HasPrefix(name, f.prefix) {
			return f.tokens
		}
	}
	switch {
	case chatty.MatchString(name), strings.HasPrefix(name, "gpt-5.3-codex-spark"):
		return 128_000
	case wide.MatchString(name) && !small.MatchString(name):
		return 1_050_000
	case strings.HasPrefix(name, "gpt-5"):
		return 400_000
	default:
		return 0
	}
}

// plainModel returns a model's name without the prefix of a gateway or of a fine-tuned model.
func plainModel(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.TrimPrefix(name, "ft:")
}
