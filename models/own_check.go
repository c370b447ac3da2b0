package models

import (
	"errors"
	"strings"

	"github.com/braidrun/braid/event"
)

// CheckOwn reports what is wrong with the provider and the region of an [Own] model before anybody asks it: a provider
// that this build does not have, or a region in which Amazon Bedrock does not serve a model of that name. It asks nothing
// over the network and needs no key. The error is of kind [event.ErrInvalid].
func CheckOwn(provider, name, region string) error {
	if _, ok := providerOf(provider); !ok {
		var names []string
		for _, p := range providers() {
			names = append(names, p.name)
		}
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "there is no provider of that name", Hint: "use one of " + strings.Join(names, ", "),
		}
	}
	if provider != "bedrock" || region == "" {
		return nil
	}
	_, err := whereServed(name, region)
	if e, ok := errors.AsType[*event.Error](err); ok {
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: strings.TrimSuffix(e.Message, "."),
			Hint: "name a region of the model's geography, or the model of the region's geography",
		}
	}
	return nil
}
