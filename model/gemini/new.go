package gemini

import (
	"net/http"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/secret"
)

var names = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)

// New returns the model with the vendor's name, such as "gemini-3.6-flash". It makes no
// connection and reads nothing from the environment; package models does. The error is
// an [*event.Error]: ErrInvalid for an invalid name or option, ErrModelAuth for a missing
// key.
func New(name string, key secret.Secret, opts ...Option) (*Model, error) {
	if !names.MatchString(name) || strings.Contains(name, "..") {
		return nil, wrong("Google has no model of such a name", "name one as the vendor does, such as "+Default)
	}
	m := &Model{
		name: name, provider: "gemini", generation: generation(name), key: key, stall: DefaultStall, client: &http.Client{},
		keyFrom: KeyVariable, baseFrom: BaseVariable,
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if key.Empty() && m.token == nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there is no key for the Gemini API",
			Hint: "set " + KeyVariable + ", or give a key",
		}
	}
	switch {
	case m.level != "" && m.generation < levels:
		return nil, wrong("this model does not think by a level", "leave the level out, or take Gemini 3 or later")
	case m.level == LevelMinimal && !m.minimal():
		return nil, wrong("this model does not have the level MINIMAL", "use LOW, MEDIUM or HIGH")
	}
	if m.token != nil && m.keyFrom == KeyVariable {
		m.keyFrom = "the credentials of Google Cloud"
	}
	return m, nil
}
