package directory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// question is how long the database takes to say whether anything has changed.
const question = 20 * time.Millisecond

// Watch says how long it takes until the end of a credential is told: at once where this process has
// ended it, but for one question to the database, and at most 2 s where another one has or time did,
// whenever in a second that is.
func TestWhenAnEndIsTold(t *testing.T) {
	t.Parallel()
	const told = 2 * time.Second
	for name, c := range map[string]struct {
		most time.Duration
		// end ends the key, at here or there.
		end func(ctx context.Context, here, there *directory.Directory, k directory.Key) error
	}{
		"revoked here": {question, func(ctx context.Context, here, _ *directory.Directory, k directory.Key) error {
			_, err := here.RevokeKey(ctx, operator, "acme", k.ID)
			return err
		}},
		"its tenant inactive here": {question, func(ctx context.Context, here, _ *directory.Directory, _ directory.Key) error {
			return inactive(ctx, here)
		}},
		"revoked elsewhere": {told, func(ctx context.Context, _, there *directory.Directory, k directory.Key) error {
			_, err := there.RevokeKey(ctx, operator, "acme", k.ID)
			return err
		}},
		"its tenant inactive elsewhere": {told, func(ctx context.Context, _, there *directory.Directory, _ directory.Key) error {
			return inactive(ctx, there)
		}},
		"its time is over": {told, func(_ context.Context, _, _ *directory.Directory, k directory.Key) error {
			time.Sleep(time.Until(k.Expires))
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longest := time.Duration(0)
			for at := time.Duration(0); at < 1200*time.Millisecond; at += 150 * time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					longest = max(longest, endAfter(t, at, c.end))
				})
			}
			if longest > c.most {
				t.Errorf("it is told after %v and not within %v", longest, c.most)
			}
			t.Logf("after %v at most", longest)
		})
	}
}

func inactive(ctx context.Context, d *directory.Directory) error {
	_, err := d.UpdateTenant(ctx, operator, "acme", 0, func(t *directory.Tenant) error { t.Status = directory.Inactive; return nil })
	return err
}

// endAfter gives how long it takes after the end until who watches is told; at is when it ends.
func endAfter(t *testing.T, at time.Duration, end func(context.Context, *directory.Directory, *directory.Directory, directory.Key) error) time.Duration {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := database.OpenMemory()
	must(err)
	here, there := directory.New(directory.Options{Database: db}), directory.New(directory.Options{Database: db})
	directory.Behind(here, there, question)
	ctx := t.Context()
	_, err = there.CreateTenant(ctx, operator, directory.Tenant{ID: "acme"}, "")
	must(err)
	expires := time.Now().Add(at + 5*time.Second).UTC()
	k, token, err := there.CreateKey(ctx, operator, directory.Key{Tenant: "acme", Scopes: directory.Scopes(), Expires: expires}, "")
	must(err)
	other, second, err := there.CreateKey(ctx, operator, directory.Key{Tenant: "acme", Scopes: directory.Scopes()}, "")
	must(err)
	i, err := here.Authenticate(ctx, token.Reveal())
	must(err)
	j, err := here.Authenticate(ctx, second.Reveal())
	must(err)
	gone, stays := make(chan time.Time, 2), make(chan time.Time, 2)
	stop := here.Watch(i, func() { gone <- time.Now() })
	defer stop()
	defer here.Watch(j, func() { stays <- time.Now() })()
	time.Sleep(at)
	synctest.Wait()
	must(end(ctx, here, there, k))
	ended := time.Now()
	took := (<-gone).Sub(ended)
	if still, err := there.GetKey(ctx, "acme", other.ID); err != nil || len(gone) > 0 || !still.Revoked.IsZero() {
		t.Errorf("told %d times more: %+v, %v", len(gone), still, err)
	}
	if tenant, err := there.GetTenant(ctx, "acme"); err != nil || tenant.Status == directory.Active && len(stays) > 0 {
		t.Errorf("another key was cut: %v", err)
	}
	must(errors.Join(here.Close(), there.Close(), db.Close()))
	return took
}

// Nobody waits for a question that another request has put, as long as what is known is not too old; from then
// on everybody does.
func TestOneWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, err := database.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		d, there := directory.New(directory.Options{Database: db}), directory.New(directory.Options{Database: db})
		const each = 700 * time.Millisecond
		directory.Behind(d, there, each)
		if _, err := there.CreateTenant(t.Context(), operator, directory.Tenant{ID: "acme"}, ""); err != nil {
			t.Fatal(err)
		}
		ask := func() time.Duration {
			begun := time.Now()
			if _, err := d.Tenant(t.Context(), "acme"); err != nil {
				t.Error(err)
			}
			return time.Since(begun)
		}
		if took := ask(); took != each {
			t.Errorf("the first question took %v", took)
		}
		// What is known is as old as the question was when it was put, which is each by now.
		begun := time.Now()
		asker := make(chan time.Duration, 1)
		var others sync.WaitGroup
		go func() { asker <- ask() }()
		synctest.Wait()
		for at, want := range map[time.Duration]time.Duration{0: 0, 200 * time.Millisecond: 0, 400 * time.Millisecond: 300 * time.Millisecond} {
			others.Go(func() {
				time.Sleep(at - time.Since(begun))
				if took := ask(); took != want {
					t.Errorf("%v after another one asked it took %v, want %v", at, took, want)
				}
			})
		}
		if took := <-asker; took != each {
			t.Errorf("who asked was answered after %v", took)
		}
		others.Wait()
		if err := errors.Join(d.Close(), there.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
}
