package pg_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/internal/pg"
)

// A call waits while the database has no connection left, for about five seconds, and for no other trouble.
func TestWaitingForAConnection(t *testing.T) {
	t.Parallel()
	full := &pgconn.PgError{Code: "53300"}
	for _, c := range []struct {
		name string
		// err is what each try gives until the time of ok; 0 is never.
		err         error
		ok          time.Duration
		gone        time.Duration
		least, most time.Duration
		want        error
	}{
		{name: "no trouble", err: full, ok: time.Nanosecond, most: 100 * time.Millisecond},
		{name: "full for a second", err: full, ok: time.Second, least: time.Second, most: 2 * time.Second},
		{name: "full for long", err: full, least: 4 * time.Second, most: 6 * time.Second, want: full},
		{name: "full, and the caller goes", err: full, gone: time.Second, least: time.Second, most: time.Second, want: full},
		{name: "another code", err: &pgconn.PgError{Code: "53100"}, want: &pgconn.PgError{Code: "53100"}},
		{name: "no code", err: context.DeadlineExceeded, want: context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.gone > 0 {
					defer time.AfterFunc(c.gone, cancel).Stop()
				}
				begun := time.Now()
				err := pg.WithRoom(ctx, func() error {
					if c.ok > 0 && time.Since(begun) >= c.ok {
						return nil
					}
					return c.err
				})
				took := time.Since(begun)
				if took < c.least || took > c.most {
					t.Errorf("it took %v", took)
				}
				if (err == nil) != (c.want == nil) || err != nil && !errors.Is(err, c.err) {
					t.Errorf("the error is %v, want %v", err, c.want)
				}
			})
		})
	}
}
