package models

import (
	"os"

	"github.com/braidrun/braid/model"
)

// Open opens the model that ref names; "" means the one that [Detect] finds. It makes no network
// connection. It returns *[event.Error]s:
//
//   - ErrModelNotFound: there is no such model. The hint says what was probably meant and what
//     exists.
//   - ErrUnsupported: the provider does not support a setting.
//   - ErrModelAuth: the provider needs a key. The hint names its variable.
//   - ErrInvalid: a setting, a region or a script is wrong.
//
// The model's Info has the prices of its calls, from pricing.Default(). Use an [Opener] for other
// prices and for limits.
//
// "demo:./file.yaml" reads a script from a file, and settings name addresses. So a reference must
// come from whoever runs the program, never from its users; for those there is [Opener.OpenNamed].
func Open(ref string) (model.Model, error) {
	return openIn(os.Getenv, ref)
}

func openIn(env func(string) string, ref string) (model.Model, error) {
	o, err := NewOpener(Options{Env: env})
	if err != nil {
		return nil, err
	}
	return o.Open(ref)
}
