package models

import (
	"errors"
	"strings"

	"github.com/braidrun/braid/event"
)

// CheckOwn checks the provider and the region of an [Own] model without a key and without a network
// request. It returns an error of kind [event.ErrInvalid] if this build does not have the provider,
// or if Amazon Bedrock does not serve the model in the region.
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
			Op: op, Kind: event.ErrInvalid, Message: e.Message,
			Hint: "name a region of the model's geography, or the model of the region's geography",
		}
	}
	return nil
}
