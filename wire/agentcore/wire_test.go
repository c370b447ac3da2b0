package agentcore_test

import (
	"testing"

	"github.com/braidrun/braid/wire/agentcore"
	"github.com/braidrun/braid/wire/wiretest"
)

func TestEncoderKeepsThePromisesOfAWire(t *testing.T) {
	t.Parallel()
	wiretest.Wire(t, agentcore.Wire)
}
