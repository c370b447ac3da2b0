package agui_test

import (
	"testing"

	"github.com/braidrun/braid/wire/agui"
	"github.com/braidrun/braid/wire/wiretest"
)

func TestEncoderKeepsThePromisesOfAWire(t *testing.T) {
	t.Parallel()
	wiretest.Wire(t, agui.Wire)
}
