package toolservers

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// key identifies a connection. Only runs with the same key share one.
type key struct {
	tenant, life, id string
	version          int
	headers          [sha256.Size]byte
	// user is set for a server to which users sign in.
	user string
}

func keyOf(s *directory.ResolvedMCPServer) key {
	k := key{s.Tenant, s.Life, s.ID, s.Version, digestOf(s.Run.Headers), ""}
	if s.OAuth != nil {
		k.user = "user " + s.Run.User // also where it is empty
	}
	return k
}

// digestOf stands for headers with their values.
func digestOf(headers map[string]secret.Secret) (sum [sha256.Size]byte) {
	h := sha256.New()
	add := func(text string) {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:]) // a hash never fails
		h.Write([]byte(text))
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		add(name)
		add(headers[name].Reveal())
	}
	h.Sum(sum[:0])
	return sum
}
