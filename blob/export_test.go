package blob

import "slices"

// Damage changes a bit of the stored byte at an offset.
func (m *Memory) Damage(tenant string, digest Digest, offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.tenants[tenant].blobs[digest].pieces[offset/PieceSize]
	p.Data = slices.Clone(p.Data)
	p.Data[offset%PieceSize] ^= 1
}

// Pieces counts the stored pieces of all tenants.
func (m *Memory) Pieces() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tenants {
		for _, b := range t.blobs {
			n += len(b.pieces)
		}
	}
	return n
}
