package agui_test

import (
	"testing"

	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/agui"
	"github.com/braidrun/braid/wire/wiretest"
)

func TestEncoderKeepsThePromisesOfAWire(t *testing.T) {
	t.Parallel()
	wiretest.Encoder(t, func(run string) wire.Encoder {
		return &agui.Encoder{Run: run, Thread: "t"}
	})
}
