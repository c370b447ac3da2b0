package journal

import (
	"context"

	"github.com/braidrun/braid/blob"
)

// Blobs implements [Journal].
func (m *Memory) Blobs() blob.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs.Guard == nil {
		m.blobs.Guard = m.guardBlob
	}
	return &m.blobs
}

// guardBlob runs a change of a reference unless its conversation has a tombstone.
func (m *Memory) guardBlob(tenant string, ref blob.Ref, change func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ref.Incarnation != "" {
		at, over := m.tombstones[tombstone{tenant, ref.Conversation, ref.Incarnation}]
		if over && m.now().Sub(at) <= TombstoneTime {
			return blob.Gone("blob reference")
		}
	}
	return change()
}

// removeBlobs removes the blobs of a conversation.
func (m *Memory) removeBlobs(tenant, conversation string) {
	_ = m.blobs.RemoveConversation(context.Background(), tenant, conversation) // only invalid names fail, and these were checked
}
