package adk_test

import (
	"testing"

	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/adk"
	"github.com/braidrun/braid/wire/wiretest"
)

func TestEncoderKeepsThePromisesOfAWire(t *testing.T) {
	t.Parallel()
	wiretest.Wire(t, adk.Wire)
}

func wireStart(run string) wire.Start { return wire.Start{Conversation: wiretest.Name, Run: run} }
