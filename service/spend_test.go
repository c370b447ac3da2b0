package service_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
)

// spendStore enforces the tenants' daily limits.
type spendStore interface {
	ReserveSpend(ctx context.Context, of directory.SpendOf, id string, want, most directory.Spend, now time.Time, lasts time.Duration) error
	RenewSpend(ctx context.Context, of directory.SpendOf, id string, lasts time.Duration) error
	SettleSpend(ctx context.Context, of directory.SpendOf, id string, used directory.Spend) error
	Spent(ctx context.Context, of directory.SpendOf) (directory.Spend, error)
}

// withStores runs a test with the store of one process, and with three servers on one PostgreSQL. life gives the life of a
// tenant that is there, clock sets the database's clock.
func withStores(t *testing.T, test func(t *testing.T, servers []spendStore, life func(tenant string) string, clock func(time.Time))) {
	t.Helper()
	t.Run("own", func(t *testing.T) {
		t.Parallel()
		p := service.NewLocalSpend()
		test(t, []spendStore{p, p, p}, func(tenant string) string { return "life of " + tenant }, func(time.Time) {})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		o := databases.Postgres(t)
		var servers []spendStore
		var people *directory.Directory
		for range 3 {
			people = directory.New(directory.Options{Database: databasetest.OpenPostgres(t, o)})
			servers = append(servers, people)
		}
		test(t, servers, func(tenant string) string {
			by := directory.By{Operator: true}
			if err := people.EnsureTenant(t.Context(), by, directory.Tenant{ID: tenant}); err != nil {
				t.Fatal(err)
			}
			made, err := people.GetTenant(t.Context(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			return made.Life
		}, databases.Clock(t, o))
	})
}

// Whatever several servers reserve, settle, renew and leave behind when they die, a reservation is given exactly where
// it fits, and no tenant spends more than it may. The clocks of the servers are an hour apart: the database's decides.
func TestSpendKeepsItsBounds(t *testing.T) {
	t.Parallel()
	withStores(t, func(t *testing.T, servers []spendStore, life func(string) string, clock func(time.Time)) {
		_, own := servers[0].(*directory.Directory)
		own = !own
		tenants := 0
		rapid.Check(t, func(r *rapid.T) {
			tenants++
			tenant := fmt.Sprintf("tenant-%d", tenants)
			of := directory.SpendOf{Tenant: tenant, Life: life(tenant), Day: 20_000}
			most := directory.Spend{Tokens: 1000, Cost: 500}
			now := time.Unix(20_000*24*60*60, 0)
			clock(now)
			type held struct {
				id      string
				want    directory.Spend
				expires time.Time
			}
			var spent directory.Spend
			var open []held
			live := func() (sum directory.Spend) {
				for _, h := range open {
					if own || !h.expires.Before(now) {
						sum.Tokens, sum.Cost = sum.Tokens+h.want.Tokens, sum.Cost+h.want.Cost
					}
				}
				return sum
			}
			steps := rapid.IntRange(1, 25).Draw(r, "steps")
			for n := range steps {
				number := rapid.IntRange(0, len(servers)-1).Draw(r, "server")
				p := servers[number]
				switch what := rapid.SampledFrom([]string{"reserve", "reserve", "settle", "renew", "wait", "crash"}).Draw(r, "step"); {
				case what == "reserve":
					want := directory.Spend{
						Tokens: rapid.Int64Range(0, 600).Draw(r, "tokens"), Cost: pricing.NanoUSD(rapid.Int64Range(0, 300).Draw(r, "cost")),
					}
					h, sum := held{fmt.Sprintf("res_%d", n), want, now.Add(time.Minute)}, live()
					its := now.Add(time.Duration(number-1) * time.Hour)
					err := p.ReserveSpend(t.Context(), of, h.id, want, most, its, time.Minute)
					tokens, cost := spent.Tokens+sum.Tokens+want.Tokens <= most.Tokens, spent.Cost+sum.Cost+want.Cost <= most.Cost
					e, _ := errors.AsType[*event.Error](err)
					switch {
					case tokens && cost && err != nil, (!tokens || !cost) && !errors.Is(err, event.ErrQuota):
						r.Fatalf("%v of %v with %v spent and %v reserved: %v", want, most, spent, sum, err)
					case !tokens && e.Code != "QUOTA_TOKENS", tokens && !cost && e.Code != "QUOTA_COST":
						r.Fatalf("it is refused as %s", e.Code)
					case err == nil:
						open = append(open, h)
					}
				case len(open) == 0:
				case what == "settle":
					i := rapid.IntRange(0, len(open)-1).Draw(r, "which")
					h := open[i]
					open = append(open[:i], open[i+1:]...)
					used := directory.Spend{
						Tokens: rapid.Int64Range(0, h.want.Tokens).Draw(r, "used"), Cost: pricing.NanoUSD(rapid.Int64Range(0, int64(h.want.Cost)).Draw(r, "paid")),
					}
					if err := p.SettleSpend(t.Context(), of, h.id, used); err != nil {
						r.Fatal(err)
					}
					spent.Tokens, spent.Cost = spent.Tokens+used.Tokens, spent.Cost+used.Cost
				case own: // its reservations end with it
				case what == "renew":
					for i := range open {
						if open[i].expires.Before(now) {
							continue // it may be gone
						}
						open[i].expires = now.Add(time.Minute)
						if err := p.RenewSpend(t.Context(), of, open[i].id, time.Minute); err != nil {
							r.Fatal(err)
						}
					}
				case what == "wait":
					now = now.Add(40 * time.Second)
					clock(now)
				case what == "crash": // nobody renews what was under way, nor settles it
					now = now.Add(time.Minute + time.Second)
					clock(now)
					open = nil
				}
				if got, err := p.Spent(t.Context(), of); err != nil || got != spent {
					r.Fatalf("%v is spent, want %v: %v", got, spent, err)
				}
			}
		})
	})
}

// Many who reserve at the same time on three servers get no more than there is, and other tenants and days are others.
func TestSpendAtOnce(t *testing.T) {
	t.Parallel()
	withStores(t, func(t *testing.T, servers []spendStore, life func(string) string, _ func(time.Time)) {
		ctx, now := t.Context(), time.Now()
		most, want := directory.Spend{Tokens: 1000}, directory.Spend{Tokens: 90}
		acme := directory.SpendOf{Tenant: "acme", Life: life("acme"), Day: 20_000}
		zeta := directory.SpendOf{Tenant: "zeta", Life: life("zeta"), Day: 20_000}
		var given atomic.Int64
		var wg sync.WaitGroup
		for n := range 36 {
			wg.Go(func() {
				p, id := servers[n%3], fmt.Sprint(n)
				if err := p.ReserveSpend(ctx, acme, id, want, most, now, time.Minute); errors.Is(err, event.ErrQuota) {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				given.Add(1)
				if err := p.SettleSpend(ctx, acme, id, want); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if spent, err := servers[0].Spent(ctx, acme); err != nil || spent.Tokens != given.Load()*90 || given.Load() != 11 {
			t.Errorf("%d were given and %v spent, want 11: %v", given.Load(), spent, err)
		}
		tomorrow := acme
		tomorrow.Day++
		for _, of := range []directory.SpendOf{zeta, tomorrow} {
			if err := servers[1].ReserveSpend(ctx, of, "x", want, most, now, time.Minute); err != nil {
				t.Errorf("%v: %v", of, err)
			}
		}
		other := acme
		other.Life = "another tenant of this id"
		if spent, err := servers[2].Spent(ctx, other); err != nil || spent != (directory.Spend{}) {
			t.Errorf("another tenant has spent %v: %v", spent, err)
		}
	})
}

// A reservation is made once, also where its answer was lost and the server asks again.
func TestAReservationIsMadeOnce(t *testing.T) {
	t.Parallel()
	withStores(t, func(t *testing.T, servers []spendStore, life func(string) string, _ func(time.Time)) {
		ctx, most, want := t.Context(), directory.Spend{Tokens: 100}, directory.Spend{Tokens: 60}
		of := directory.SpendOf{Tenant: "acme", Life: life("acme"), Day: 20_000}
		for range 3 {
			if err := servers[0].ReserveSpend(ctx, of, "res_1", want, most, time.Now(), time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if err := servers[1].ReserveSpend(ctx, of, "res_2", want, most, time.Now(), time.Minute); !errors.Is(err, event.ErrQuota) {
			t.Errorf("more than there is: %v", err)
		}
		if err := servers[2].ReserveSpend(ctx, of, "res_3", directory.Spend{Tokens: 40}, most, time.Now(), time.Minute); err != nil {
			t.Errorf("what is left: %v", err)
		}
	})
}

// The cost of the spend store per model call: a reservation and a settlement.
func BenchmarkSpend(b *testing.B) {
	if os.Getenv("BRAID_POSTGRES") == "" {
		b.Skip("it needs PostgreSQL")
	}
	people := directory.New(directory.Options{Database: databasetest.OpenPostgres(b, databases.Postgres(b))})
	if err := people.EnsureTenant(b.Context(), directory.By{Operator: true}, directory.Tenant{ID: "acme"}); err != nil {
		b.Fatal(err)
	}
	made, err := people.GetTenant(b.Context(), "acme")
	if err != nil {
		b.Fatal(err)
	}
	of := directory.SpendOf{Tenant: "acme", Life: made.Life, Day: 20_000}
	want, most := directory.Spend{Tokens: 10, Cost: 10}, directory.Spend{Tokens: 1 << 60, Cost: 1 << 60}
	n := 0
	for b.Loop() {
		n++
		id := fmt.Sprint("res_", n)
		if err := people.ReserveSpend(b.Context(), of, id, want, most, time.Now(), time.Minute); err != nil {
			b.Fatal(err)
		}
		if err := people.SettleSpend(b.Context(), of, id, want); err != nil {
			b.Fatal(err)
		}
	}
}
