package models

import (
	"errors"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/secret"
)

// openOpenAI opens "", which is the vendor's model for most work, or a model by
// its server's name. The key is OPENAI_API_KEY; OPENAI_BASE_URL, where it is
// set, is the address of another server, which may need no key.
func openOpenAI(env func(string) string, name string) (braid.Model, error) {
	if name == "" {
		name = openai.Default
	} else if presentable(name) == "" || strings.Contains(name, "?") {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "OpenAI has no model of such a name.",
			Hint: "name one as its server does, such as openai:" + openai.Default,
		}
	}
	base := strings.TrimSpace(env(openai.BaseVariable))
	m, err := openai.New(name, secret.New(env(openai.KeyVariable)), openai.BaseURL(base))
	if e := new(event.Error); errors.As(err, &e) {
		if base != "" && e.Kind == event.ErrInvalid {
			e.Op = "model (from " + openai.BaseVariable + ")"
		}
		return nil, e
	}
	return m, err
}

// openOllama opens a model of the Ollama on this machine. It has no key, and
// none of its models is everybody's.
func openOllama(_ func(string) string, name string) (braid.Model, error) {
	if name == "" || presentable(name) == "" || strings.Contains(name, "?") {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "Ollama has no model of such a name.",
			Hint: "name one that \"ollama list\" shows, such as ollama:qwen3",
		}
	}
	return openai.New(name, secret.Secret{}, openai.BaseURL(openai.Ollama), openai.Named("ollama"))
}
