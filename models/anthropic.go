package models

import (
	"errors"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/secret"
)

// openAnthropic opens "", which is the vendor's model for most work, or a model
// by the vendor's name. The key is ANTHROPIC_API_KEY; ANTHROPIC_BASE_URL, where
// it is set, is the address of a gateway.
func openAnthropic(env func(string) string, name string) (braid.Model, error) {
	switch {
	case name == "":
		name = anthropic.Default
	case presentable(name) == "" || strings.Contains(name, "?"):
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelNotFound, Message: "Anthropic has no model of such a name.",
			Hint: "name one as the vendor does, such as anthropic:" + anthropic.Default,
		}
	}
	base := strings.TrimSpace(env(anthropic.BaseVariable))
	m, err := anthropic.New(name, secret.New(env(anthropic.KeyVariable)), anthropic.BaseURL(base))
	if e := new(event.Error); errors.As(err, &e) {
		if base != "" && e.Kind == event.ErrInvalid {
			e.Op = "model (from " + anthropic.BaseVariable + ")"
		}
		return nil, e
	}
	return m, err
}
