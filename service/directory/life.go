package directory

import "crypto/rand"

// newLife returns the life of a new object whose id was chosen. Ids are reused, lives are not. Who
// caches data of a tenant, an agent or a model beyond a request must compare its life, not only its
// id.
func newLife() string { return rand.Text() }
