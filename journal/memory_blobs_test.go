package journal_test

import (
	"testing"

	"github.com/braidrun/braid/blob/blobtest"
	"github.com/braidrun/braid/journal"
)

func TestBlobsInMemory(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blobtest.Harness {
		m := &journal.Memory{}
		return blobtest.Harness{Store: m.Blobs(), Journal: m, Bytes: func(tenant string) int64 {
			n, err := m.StoredBytes(t.Context(), tenant)
			if err != nil {
				t.Error(err)
			}
			return n
		}}
	})
}
