package door

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// Quotas says what bounds a tenant, and gives the tenant's life; a [directory.Directory] does.
type Quotas interface {
	Quota(ctx context.Context, tenant string) (q directory.Quota, life string, err error)
}

// The header fields of draft-ietf-httpapi-ratelimit-headers-10, as Go writes them.
const (
	limitHeader  = "Ratelimit"
	policyHeader = "Ratelimit-Policy"
)

// window is the time that a bound of requests is for.
const window = time.Minute

// Pass counts a request of the caller, after its credential was found good and before its body is read. If the
// caller's tenant has made too many, the error is [event.ErrQuota] with RetryAfter. Pass tells in the header how many
// more the tenant may make. The operator is not counted.
func (d *Door) Pass(ctx context.Context, c *Caller, header http.Header) error {
	quotas, ok := d.keys.(Quotas)
	if !ok || c.Tenant == "" || c.May(service.ScopeOperator) {
		return nil
	}
	q, life, err := quotas.Quota(ctx, c.Tenant)
	if errors.Is(err, event.ErrNotFound) {
		return nil // whoever looks for the tenant next says so
	}
	most := directory.Bound(q.Requests)
	if err != nil || most == 0 {
		return err
	}
	passes, left, reset := d.rates.take(c.Tenant, life, most, time.Now())
	header.Set(policyHeader, fmt.Sprintf(`"requests";q=%d;w=%d`, most, seconds(window)))
	header.Set(limitHeader, fmt.Sprintf(`"requests";r=%d;t=%d`, left, seconds(reset)))
	if passes {
		return nil
	}
	return &event.Error{
		Op: "door", Kind: event.ErrQuota, Code: "QUOTA_REQUESTS", Message: fmt.Sprintf("the tenant may make %d requests a minute", most),
		Hint: "wait as long as Retry-After says, or ask the operator of this service for more", RetryAfter: reset,
	}
}

// Exhausted tells in the header which quota an answer's error is about, where it is about one.
func Exhausted(header http.Header, err error) {
	name, ok := QuotaOf(err)
	if !ok || name == "requests" { // Pass has told that
		return
	}
	e, _ := errors.AsType[*event.Error](err)
	header.Add(limitHeader, fmt.Sprintf(`"%s";r=0;t=%d`, name, seconds(e.RetryAfter)))
}

// QuotaOf names the quota that an error is about.
func QuotaOf(err error) (name string, ok bool) {
	e, is := errors.AsType[*event.Error](err)
	if !is || e.Kind != event.ErrQuota {
		return "", false
	}
	if e.Code == codeWrongCredentials {
		return "credentials", true
	}
	code, ok := strings.CutPrefix(e.Code, "QUOTA_")
	return strings.ToLower(code), ok
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// rates counts the requests of tenants. The zero value is ready for use.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	swept   time.Time
}

// bucket holds the requests that a tenant may make at once. It fills in a [window].
type bucket struct {
	// life is the tenant's: another tenant under the same id begins anew.
	life string
	size float64
	left float64
	at   time.Time
}

// mostBuckets bounds how many tenants are counted at once.
const mostBuckets = 100_000

// take takes a request from the tenant's bucket; ok is false if there was none. left is how many there are now. reset
// is the time until the bucket is full or, if it is empty, until there is one request.
func (r *rates) take(tenant, life string, most int64, now time.Time) (ok bool, left int64, reset time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[tenant]
	if b == nil || b.life != life {
		r.sweep(now)
		b = &bucket{life: life, size: float64(most), left: float64(most), at: now}
		r.buckets[tenant] = b
	}
	b.fill(now)
	if size := float64(most); b.size != size { // what was used stays used
		b.left = max(b.left+size-b.size, 0)
		b.size = size
	}
	if ok = b.left >= 1; ok {
		b.left--
	}
	if b.left < 1 {
		return ok, 0, b.until(1)
	}
	return ok, int64(b.left), b.until(b.size)
}

// fill adds what has come since the last time.
func (b *bucket) fill(now time.Time) {
	if since := now.Sub(b.at); since > 0 {
		b.left = min(b.size, b.left+b.size*since.Seconds()/window.Seconds())
		b.at = now
	}
}

// until is the time until the bucket holds n.
func (b *bucket) until(n float64) time.Duration {
	return time.Duration(math.Ceil(max(n-b.left, 0) / b.size * float64(window)))
}

// sweep makes room for a bucket. A full one is the same as none.
func (r *rates) sweep(now time.Time) {
	if r.buckets == nil {
		r.buckets = make(map[string]*bucket)
	}
	if len(r.buckets) < mostBuckets && now.Sub(r.swept) < window {
		return
	}
	r.swept = now
	maps.DeleteFunc(r.buckets, func(_ string, b *bucket) bool {
		b.fill(now)
		return b.left >= b.size
	})
	for tenant := range r.buckets {
		if len(r.buckets) < mostBuckets {
			return
		}
		delete(r.buckets, tenant) // so many tenants at once: one of them begins anew
	}
}
