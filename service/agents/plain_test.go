package agents

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// A tenant reads no address of the operator's servers, and the loop still sees that none was there.
func TestATenantIsNotToldTheAddressOfTheModelsServer(t *testing.T) {
	t.Parallel()
	for _, code := range []string{model.CodeRefused, model.CodeNoHost, model.CodeUnreachable} {
		var e *event.Error
		err := plainError(&event.Error{
			Op: "model openai", Kind: event.ErrUnavailable, Code: code, Message: "the server cannot be reached: no server listens at 10.0.0.9:8000",
			Hint: "start the server, or correct its address, base=",
		})
		if !errors.As(err, &e) || e.Kind != event.ErrUnavailable || e.Code != code || strings.Contains(e.Error(), "10.0.0.9") || strings.Contains(e.Error(), "base=") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
