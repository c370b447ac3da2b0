package blob_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/blob/blobtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func memory() blobtest.Harness {
	m := &blob.Memory{}
	return blobtest.Harness{Store: m, Bytes: m.Bytes, Pieces: m.Pieces, Damage: m.Damage}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(*testing.T) blobtest.Harness { return memory() })
}

func TestMemoryIsAMap(t *testing.T) {
	t.Parallel()
	blobtest.Model(t, memory())
}
