package toolservers

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/braidrun/braid/service/directory"
)

// key identifies a connection. Only runs with the same key share one.
type key struct {
	tenant, life, id string
	version          int
	// sent stands for the headers and credentials of the run.
	sent [sha256.Size]byte
	// user is set for a server to which users sign in.
	user string
}

func keyOf(s *directory.ResolvedMCPServer) key {
	k := key{s.Server.Tenant, s.Server.Life, s.Server.ID, s.Server.Version, digestOf(&s.Run), ""}
	if s.Server.OAuth != nil {
		k.user = "user " + s.Run.User // also where it is empty
	}
	return k
}

// digestOf stands for headers and credentials with their values.
func digestOf(r *directory.MCPRun) (sum [sha256.Size]byte) {
	h := sha256.New()
	add := func(texts ...string) {
		for _, text := range texts {
			var size [8]byte
			binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
			h.Write(size[:]) // a hash never fails
			h.Write([]byte(text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		add("header", name, r.Headers[name].Reveal())
	}
	for _, part := range slices.SortedFunc(maps.Keys(r.Credentials), func(a, b directory.CredentialPart) int {
		return cmp.Or(strings.Compare(a.Scheme, b.Scheme), strings.Compare(a.Field, b.Field))
	}) {
		add("credential", part.Scheme, part.Field, r.Credentials[part].Reveal())
	}
	h.Sum(sum[:0])
	return sum
}
