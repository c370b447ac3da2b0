package native_test

import (
	"testing"

	"github.com/braidrun/braid/wire/native"
	"github.com/braidrun/braid/wire/wiretest"
)

func TestEncoderKeepsThePromisesOfAWire(t *testing.T) {
	t.Parallel()
	wiretest.Wire(t, native.Wire)
}
