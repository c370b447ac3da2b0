package postgres_test

import (
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/postgres"
)

// An address may have the pool's parameters, but no unknown ones.
func TestParametersOfAnAddress(t *testing.T) {
	t.Parallel()
	server := server(t)
	o := migrated(t, server)
	pooled := o
	pooled.URL += "&pool_max_conns=2"
	fill(t, open(t, pooled), "acme")
	owned := o
	owned.URL = server.URL(owner, "postgres") + "&pool_max_conns=2"
	if err := postgres.Migrate(t.Context(), owned, guest); err != nil {
		t.Errorf("Migrate with the size of a pool: %v", err)
	}
	odd := o
	odd.URL += "&colour=blue"
	_, err := postgres.Open(t.Context(), odd)
	refused(t, "Open with a parameter that nobody knows", err, event.ErrInvalid)
}
