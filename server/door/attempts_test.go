package door_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/service/directory"
)

// ring knows the keys that begin with "right", and counts how often it is asked. Where gate is set it answers once that is closed.
type ring struct {
	asked   int
	revoked map[string]bool
	gate    chan struct{}
}

func (r *ring) Authenticate(_ context.Context, token string) (directory.Identity, error) {
	r.asked++
	if r.gate != nil {
		<-r.gate
	}
	if strings.HasPrefix(token, "right") && !r.revoked[token] {
		return directory.Identity{Tenant: "acme", Key: token}, nil
	}
	return directory.Identity{}, &event.Error{Kind: event.ErrUnauthenticated}
}

func (*ring) Watch(directory.Identity, func()) func() { return func() {} }

func (*ring) Refused(directory.Refused) {}

// show shows a credential from an address.
func show(d *door.Door, from, token string, forwarded ...string) error {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = from
	for _, f := range forwarded {
		r.Header.Add("X-Forwarded-For", f)
	}
	_, err := d.OpenFor(r, secret.New(token))
	return err
}

// tooMany reports whether the error is that of an address that shows too many wrong credentials.
func tooMany(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Kind == event.ErrQuota && e.Code == "WRONG_CREDENTIALS" && e.RetryAfter >= time.Second && e.Hint != ""
}

// An address that has shown too many wrong credentials is told to wait. Right ones keep working, from there too.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := &ring{revoked: map[string]bool{}}
		d := door.New(secret.New("the operator's"), "acme", keys)
		d.Bound(door.Attempts{Most: 60})
		const bad, good = "192.0.2.7:1111", "192.0.2.8:1111"
		if err := show(d, bad, "right 1"); err != nil {
			t.Fatal(err)
		}
		for n := range 60 {
			if err := show(d, bad, fmt.Sprint("wrong ", n)); !errors.Is(err, event.ErrUnauthenticated) {
				t.Fatalf("wrong credential %d: %v", n, err)
			}
		}
		for n := range 200 {
			if err := show(d, fmt.Sprint("192.0.2.7:", n+1), fmt.Sprint("wrong ", n)); !tooMany(err) {
				t.Fatalf("wrong credential %d beyond the bound: %v", n, err)
			}
		}
		for name, c := range map[string]struct{ from, token string }{
			"known, the same address":   {bad, "right 1"},
			"unknown, the same address": {bad, "right 2"},
			"another address":           {good, "right 3"},
			"the operator":              {bad, "the operator's"},
		} {
			for range 3 {
				if err := show(d, c.from, c.token); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if err := show(d, good, "wrong"); !errors.Is(err, event.ErrUnauthenticated) {
			t.Errorf("a wrong credential of another address: %v", err)
		}
		if err := show(d, bad, ""); !errors.Is(err, event.ErrUnauthenticated) {
			t.Errorf("no credential: %v", err)
		}
		keys.revoked["right 1"] = true
		if err := show(d, bad, "right 1"); !errors.Is(err, event.ErrUnauthenticated) {
			t.Errorf("a key that was revoked: %v", err)
		}
		if err := show(d, bad, "right 1"); !tooMany(err) {
			t.Errorf("a key that was revoked, again: %v", err)
		}
		time.Sleep(time.Second) // which gives one back
		if err := show(d, bad, "wrong"); !errors.Is(err, event.ErrUnauthenticated) {
			t.Errorf("a second later: %v", err)
		}
		if err := show(d, bad, "wrong"); !tooMany(err) {
			t.Errorf("one more: %v", err)
		}
	})
}

// Beyond the bound the keys are asked about one credential of an address at a time.
func TestWrongCredentialsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := &ring{}
		d := door.New(secret.Secret{}, "", keys)
		d.Bound(door.Attempts{Most: 1})
		_ = show(d, "192.0.2.7:1", "wrong")
		keys.gate, keys.asked = make(chan struct{}), 0
		done := make(chan error)
		go func() { done <- show(d, "192.0.2.7:1", "wrong") }()
		synctest.Wait()
		for range 100 {
			if err := show(d, "192.0.2.7:1", "wrong"); !tooMany(err) {
				t.Fatal(err)
			}
		}
		close(keys.gate)
		if err := <-done; !tooMany(err) || keys.asked != 1 {
			t.Errorf("the keys were asked %d times: %v", keys.asked, err)
		}
	})
}

// What counts as one address, with and without proxies.
func TestAddresses(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/16")}
	type call struct {
		from      string
		forwarded []string
	}
	at := func(from string, forwarded ...string) call { return call{from, forwarded} }
	for name, c := range map[string]struct {
		first, second call
		proxies       []netip.Prefix
		same          bool
	}{
		"one address":                       {first: at("192.0.2.7:1"), second: at("192.0.2.7:2"), same: true},
		"two addresses":                     {first: at("192.0.2.7:1"), second: at("192.0.2.8:1")},
		"IPv4 in IPv6":                      {first: at("192.0.2.7:1"), second: at("[::ffff:192.0.2.7]:1"), same: true},
		"one /64":                           {first: at("[2001:db8::1]:1"), second: at("[2001:db8::ffff:1]:1"), same: true},
		"a zone":                            {first: at("[fe80::1%eth0]:1"), second: at("[fe80::1%eth1]:1"), same: true},
		"two networks":                      {first: at("[2001:db8::1]:1"), second: at("[2001:db8:0:1::1]:1")},
		"forwarded, and no proxy":           {first: at("192.0.2.7:1", "198.51.100.1"), second: at("192.0.2.7:1", "198.51.100.2"), same: true},
		"forwarded by a proxy":              {first: at("10.0.0.1:1", "198.51.100.1"), second: at("10.0.0.1:1", "198.51.100.2"), proxies: proxies},
		"forwarded by two proxies":          {first: at("10.0.0.1:1", "198.51.100.1"), second: at("[fd00::1]:1", "198.51.100.1, 10.1.1.1"), proxies: proxies, same: true},
		"what the client writes itself":     {first: at("10.0.0.1:1", "1.1.1.1, 198.51.100.1"), second: at("10.0.0.1:1", "2.2.2.2", "198.51.100.1"), proxies: proxies, same: true},
		"two lines":                         {first: at("10.0.0.1:1", "198.51.100.1", "10.0.0.2"), second: at("10.0.0.2:1", "198.51.100.1"), proxies: proxies, same: true},
		"nonsense is the proxy's":           {first: at("10.0.0.1:1", "nobody"), second: at("10.0.0.1:1", "198.51.100.1, unknown"), proxies: proxies, same: true},
		"a proxy that forwards for nobody":  {first: at("10.0.0.1:1"), second: at("10.0.0.1:2"), proxies: proxies, same: true},
		"another proxy forwards for nobody": {first: at("10.0.0.1:1"), second: at("10.0.0.2:1"), proxies: proxies},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := door.New(secret.Secret{}, "", &ring{})
			d.Bound(door.Attempts{Most: 1, Proxies: c.proxies})
			if err := show(d, c.first.from, "wrong", c.first.forwarded...); !errors.Is(err, event.ErrUnauthenticated) {
				t.Errorf("the first: %v", err)
			}
			if err := show(d, c.second.from, "wrong", c.second.forwarded...); tooMany(err) != c.same {
				t.Errorf("the second: %v, want it to be the same address: %t", err, c.same)
			}
		})
	}
	d := door.New(secret.Secret{}, "", &ring{})
	d.Bound(door.Attempts{Most: 1})
	unbound := door.New(secret.Secret{}, "", &ring{})
	unbound.Bound(door.Attempts{Most: -1})
	for range 5 {
		if err := show(d, "@", "wrong"); !errors.Is(err, event.ErrUnauthenticated) {
			t.Errorf("a socket of the machine: %v", err)
		}
		if err := show(unbound, "192.0.2.7:1", "wrong"); !errors.Is(err, event.ErrUnauthenticated) {
			t.Errorf("without a bound: %v", err)
		}
	}
}
