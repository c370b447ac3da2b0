package native_test

import (
	"testing"

	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/wiretest"
)

func TestEncoderKeepsThePromisesOfAWire(t *testing.T) {
	t.Parallel()
	wiretest.Encoder(t, func(run string) wire.Encoder {
		enc := native.NewEncoder(wiretest.Name)
		enc.Run = run
		return enc
	})
}
