package door_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// quotas are tenants by their ids.
type quotas map[string]*struct {
	most int64
	life string
}

func (quotas) Authenticate(context.Context, string) (directory.Identity, error) {
	return directory.Identity{}, event.ErrUnauthenticated
}

func (quotas) Watch(directory.Identity, func()) func() { return func() {} }

func (quotas) Refused(directory.Refused) {}

func (q quotas) Quota(_ context.Context, tenant string) (directory.Quota, string, error) {
	t := q[tenant]
	if t == nil {
		return directory.Quota{}, "", event.ErrNotFound
	}
	return directory.Quota{Requests: &t.most}, t.life, nil
}

// A tenant makes as many requests in a minute as it may, and gets them back one by one.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		people := quotas{"acme": {60, "one"}, "zeta": {60, "two"}, "free": {0, "three"}}
		d := door.New(secret.New("token"), "default", people)
		pass := func(tenant string, scopes ...service.Scope) (http.Header, error) {
			h := http.Header{}
			return h, d.Pass(t.Context(), &door.Caller{Principal: service.Principal{Tenant: tenant, Scopes: scopes}}, h)
		}
		use := func(tenant string, n int) {
			t.Helper()
			for i := range n {
				if _, err := pass(tenant); err != nil {
					t.Fatalf("request %d of %s: %v", i+1, tenant, err)
				}
			}
		}
		refused := func(tenant string, after time.Duration) {
			t.Helper()
			h, err := pass(tenant)
			e, _ := errors.AsType[*event.Error](err)
			if e == nil || e.Kind != event.ErrQuota || e.Code != "QUOTA_REQUESTS" || e.RetryAfter != after || e.Hint == "" {
				t.Errorf("%s: got %+v, want a quota with Retry-After %v", tenant, e, after)
			}
			if name, ok := door.QuotaOf(err); name != "requests" || !ok {
				t.Errorf("it is of the quota %q", name)
			}
			if h.Get("RateLimit-Policy") == "" || h.Get("RateLimit") != `"requests";r=0;t=1` {
				t.Errorf("%s: the header is %v", tenant, h)
			}
		}
		h, err := pass("acme")
		if err != nil || h.Get("RateLimit-Policy") != `"requests";q=60;w=60` || h.Get("RateLimit") != `"requests";r=59;t=1` {
			t.Errorf("the first request: %v, %v", h, err)
		}
		use("acme", 59)
		refused("acme", time.Second)
		use("zeta", 60) // its own
		for range 500 {
			if h, err := pass("acme", service.ScopeOperator); err != nil || len(h) > 0 {
				t.Fatalf("the operator: %v, %v", h, err)
			}
			if h, err := pass("free"); err != nil || len(h) > 0 {
				t.Fatalf("a tenant without a bound: %v, %v", h, err)
			}
		}
		time.Sleep(500 * time.Millisecond)
		refused("acme", 500*time.Millisecond)
		time.Sleep(4500 * time.Millisecond)
		use("acme", 5)
		refused("acme", time.Second)
		people["acme"].most = 70 // the operator gives ten more
		use("acme", 10)
		people["acme"].most = 60
		time.Sleep(time.Hour)
		use("acme", 60)
		refused("acme", time.Second)
		people["acme"].life = "other" // erased and made again
		use("acme", 60)
		refused("acme", time.Second)
		if _, err := pass("nobody"); err != nil {
			t.Errorf("whoever looks for the tenant is to say that it is not there, and not: %v", err)
		}
	})
}

// Of many requests at once no more pass than may.
func TestRequestsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := door.New(secret.New("token"), "default", quotas{"acme": {50, "one"}})
		passed := make(chan bool, 200)
		for range cap(passed) {
			go func() {
				err := d.Pass(t.Context(), &door.Caller{Principal: service.Principal{Tenant: "acme"}}, http.Header{})
				passed <- err == nil
			}()
		}
		n := 0
		for range cap(passed) {
			if <-passed {
				n++
			}
		}
		if n != 50 {
			t.Errorf("%d of 200 requests passed, want 50", n)
		}
	})
}
