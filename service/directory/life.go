package directory

import "crypto/rand"

// newLife makes the life of what is about to be made under an id that people choose. Ids are used
// again, lives are not: whatever remembers a tenant, an agent or a model beyond a request must compare
// its life, and not only its id.
func newLife() string { return rand.Text() }
