package door

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// DefaultAttempts is how many wrong credentials an address may show in a minute if nothing else was set.
const DefaultAttempts = 100

// Attempts bounds wrong credentials.
type Attempts struct {
	// Most is how many wrong credentials one address may show in a minute: an IPv4 address, or the /64 network of an IPv6
	// address. 0 means [DefaultAttempts], below 0 there is no bound.
	Most int
	// Proxies are those whose header X-Forwarded-For is believed.
	Proxies []netip.Prefix
}

// Bound sets how many wrong credentials are answered. Call it before the door is used.
func (d *Door) Bound(a Attempts) {
	if a.Most == 0 {
		a.Most = DefaultAttempts
	}
	d.attempts.Attempts = a
}

// OpenFor is [Door.Open] for a request, and counts a wrong credential against the request's address. An address that has
// shown too many gets [event.ErrQuota] with the code WRONG_CREDENTIALS. Right credentials from there keep working: those that
// were right before always, others unless one more unknown credential of the address is being looked up.
func (d *Door) OpenFor(r *http.Request, token secret.Secret) (Caller, error) {
	from, ok := d.attempts.from(r)
	if !ok || token.Empty() || !d.token.Empty() && d.token.Equal(token) {
		return d.Open(r.Context(), token)
	}
	return d.attempts.try(r.Context(), from, token, d.Open)
}

// attempts counts the wrong credentials of addresses. The zero value is ready for use.
type attempts struct {
	Attempts

	mu sync.Mutex
	of map[netip.Prefix]*attempt
	// swept is when the addresses were left out that had shown none for a while.
	swept time.Time
	// right are the hashes of credentials that were right the last time that they were shown.
	right map[[sha256.Size]byte]struct{}
}

// attempt is what one address may still show.
type attempt struct {
	bucket

	// looking says that a credential is looked up beyond the bound: one at a time.
	looking bool
}

// mostRight bounds how many right credentials are remembered.
const mostRight = 100_000

// from returns the address that a request came from, as far as it is counted. ok is false if nothing is counted.
func (a *attempts) from(r *http.Request) (from netip.Prefix, ok bool) {
	if a.Most <= 0 {
		return netip.Prefix{}, false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil { // such as a socket of the machine
		return netip.Prefix{}, false
	}
	addr := peer.Addr().Unmap().WithZone("")
	if a.believes(addr) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(hops) - 1; i >= 0; i-- {
			hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
			if err != nil {
				break
			}
			if addr = hop.Unmap().WithZone(""); !a.believes(addr) {
				break
			}
		}
	}
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	from, err = addr.Prefix(bits)
	return from, err == nil
}

// believes reports whether the address is a proxy's.
func (a *attempts) believes(addr netip.Addr) bool {
	for _, p := range a.Proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// try opens with a credential. A credential that was right before is not counted.
func (a *attempts) try(
	ctx context.Context, from netip.Prefix, token secret.Secret, open func(context.Context, secret.Secret) (Caller, error),
) (Caller, error) {
	hash := sha256.Sum256([]byte(token.Reveal()))
	a.mu.Lock()
	_, known := a.right[hash]
	a.mu.Unlock()
	beyond := false
	if !known {
		var looks bool
		if looks, beyond = a.begin(from, time.Now()); !looks {
			return Caller{}, a.tooMany(from)
		}
	}
	c, err := open(ctx, token)
	wrong := event.KindOf(err) == event.ErrUnauthenticated
	a.mu.Lock()
	switch {
	case err == nil && !known:
		a.remember(hash)
	case wrong && known: // revoked, or expired
		delete(a.right, hash)
	}
	if k := a.of[from]; k != nil && !known {
		if beyond {
			k.looking = false
		} else if !wrong {
			k.left = min(k.left+1, k.size)
		}
	}
	a.mu.Unlock()
	if wrong && beyond {
		return c, a.tooMany(from)
	}
	return c, err
}

// begin takes one attempt of the address. Beyond the bound it lets one credential be looked up at a time.
func (a *attempts) begin(from netip.Prefix, now time.Time) (looks, beyond bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.of[from]
	if k == nil {
		a.sweep(now)
		k = &attempt{bucket: bucket{size: float64(a.Most), left: float64(a.Most), at: now}}
		a.of[from] = k
	}
	k.fill(now)
	switch {
	case k.left >= 1:
		k.left--
		return true, false
	case k.looking:
		return false, true
	}
	k.looking = true
	return true, true
}

// remember notes a right credential. The caller holds the lock.
func (a *attempts) remember(hash [sha256.Size]byte) {
	if a.right == nil {
		a.right = make(map[[sha256.Size]byte]struct{})
	}
	for old := range a.right {
		if len(a.right) < mostRight {
			break
		}
		delete(a.right, old) // it is looked up again
	}
	a.right[hash] = struct{}{}
}

// sweep makes room for an address. The caller holds the lock.
func (a *attempts) sweep(now time.Time) {
	if a.of == nil {
		a.of = make(map[netip.Prefix]*attempt)
	}
	if len(a.of) < mostBuckets && now.Sub(a.swept) < window {
		return
	}
	a.swept = now
	for from, k := range a.of {
		if k.fill(now); k.left >= k.size && !k.looking {
			delete(a.of, from)
		}
	}
	for from := range a.of {
		if len(a.of) < mostBuckets {
			return
		}
		delete(a.of, from) // so many addresses at once: one of them begins anew
	}
}

// tooMany is the error for an address that has shown too many wrong credentials.
func (a *attempts) tooMany(from netip.Prefix) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait := time.Second
	if k := a.of[from]; k != nil {
		wait = max(k.until(1), wait)
	}
	return &event.Error{
		Op: "door", Kind: event.ErrQuota, Code: codeWrongCredentials, Message: "too many wrong credentials came from this address",
		Hint: "check the API key; if others share the address, try again as Retry-After says", RetryAfter: wait,
	}
}

// codeWrongCredentials is the Code of the error for an address that has shown too many wrong credentials.
const codeWrongCredentials = "WRONG_CREDENTIALS" //nolint:gosec // it is no credential
