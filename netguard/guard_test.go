package netguard_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/netguard"
)

func newGuard(t *testing.T, o netguard.Options) *netguard.Guard {
	t.Helper()
	g, err := netguard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.CloseIdleConnections)
	return g
}

// site starts a server on loopback and returns its port.
func site(t *testing.T, h http.HandlerFunc) (port string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// wantRefused checks that an error is a refusal for the reason.
func wantRefused(t *testing.T, err error, reason string) {
	t.Helper()
	if !errors.Is(err, event.ErrPermission) || !strings.Contains(err.Error(), reason) {
		t.Errorf("the error is %v, not a refusal because %q", err, reason)
	}
}

func get(t *testing.T, g *netguard.Guard, address string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Client().Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

// Each way to write an address of the inside is refused before anything is resolved.
func TestURLsThatAreRefused(t *testing.T) {
	t.Parallel()
	g := newGuard(t, netguard.Options{})
	for address, reason := range map[string]string{
		"https://127.0.0.1/":                          "loopback",
		"https://127.0.0.1./":                         "loopback",
		"https://[::1]/":                              "loopback",
		"https://[0:0:0:0:0:0:0:1]/":                  "loopback",
		"https://[::ffff:127.0.0.1]/":                 "loopback",
		"https://[::ffff:7f00:1]/":                    "loopback",
		"https://[64:ff9b::127.0.0.1]/":               "loopback",
		"https://169.254.169.254/latest/":             "link-local",
		"https://[fe80::1%25eth0]/":                   "zone",
		"https://10.0.0.1/":                           "private",
		"https://[fd00:ec2::254]/":                    "private",
		"https://0.0.0.0/":                            "this network",
		"https://2130706433/":                         "unusual form",
		"https://0x7f000001/":                         "unusual form",
		"https://0X7F.1/":                             "unusual form",
		"https://0177.0.0.1/":                         "unusual form",
		"https://127.1/":                              "unusual form",
		"https://127.0.0.0x1/":                        "unusual form",
		"https://1.2.3.4.5/":                          "unusual form",
		"https://256.1.1.1/":                          "unusual form",
		"https://a.example.0x/":                       "unusual form",
		"https://127\u30020\u30020\u30021/":           "not a name in ASCII",
		"https://\u24db\u24de\u24d2alhost/":           "not a name in ASCII",
		"https://a..example/":                         "not a name",
		"https:///path":                               "is empty",
		"https://" + strings.Repeat("a.", 200) + "a/": "too long",
		"https://user:pass@api.example/":              "user information",
		"http://api.example/":                         "http to",
		"https://api.example:8443/":                   "port 8443",
		"https://api.example:0/":                      "port",
		"https://api.example:00443/":                  "port",
		"https://api.example:99999/":                  "port",
		"ftp://api.example/":                          "scheme",
		"file:///etc/passwd":                          "scheme",
		"gopher://127.0.0.1:6379/":                    "scheme",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		wantRefused(t, g.CheckURL(u), reason)
		resp, err := g.RoundTrip((&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}).WithContext(t.Context()))
		if err == nil {
			_ = resp.Body.Close()
		}
		wantRefused(t, err, reason)
	}
	for _, address := range []string{"https://api.example/", "https://8.8.8.8/", "https://[2001:4860:4860::8888]:443/", "https://xn--bcher-kva.example/"} {
		u, _ := url.Parse(address)
		if err := g.CheckURL(u); err != nil {
			t.Errorf("%s is refused: %v", address, err)
		}
	}
}

func TestPlainAndPorts(t *testing.T) {
	t.Parallel()
	g := newGuard(t, netguard.Options{Plain: true, Ports: []uint16{8443}})
	for _, address := range []string{"http://api.example/", "http://api.example:8443/", "https://api.example:8443/"} {
		u, _ := url.Parse(address)
		if err := g.CheckURL(u); err != nil {
			t.Errorf("%s is refused: %v", address, err)
		}
	}
	u, _ := url.Parse("http://api.example:8080/")
	wantRefused(t, g.CheckURL(u), "port 8080")
}

// A name is judged by the address that is dialled, whatever it resolved to before.
func TestANameThatChangesAfterTheCheck(t *testing.T) {
	t.Parallel()
	asked := false
	port := site(t, func(http.ResponseWriter, *http.Request) { asked = true })
	r := resolver(t, map[string][]string{"rebind.example": {"8.8.8.8", "127.0.0.1"}})
	g := newGuard(t, netguard.Options{Resolver: r, Plain: true, Ports: []uint16{portOf(t, port)}})
	before, err := r.LookupNetIP(t.Context(), "ip4", "rebind.example")
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	if _, public := netguard.Public(before[0]); !public {
		t.Fatalf("%s is not public", before[0])
	}
	_, err = get(t, g, "http://rebind.example:"+port+"/")
	wantRefused(t, err, "loopback")
	if asked {
		t.Error("the server was asked")
	}
	if strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("the error tells the address: %v", err)
	}
}

func TestNamesOfTheInside(t *testing.T) {
	t.Parallel()
	r := resolver(t, map[string][]string{
		"loop4.example": {"127.0.0.1"}, "loop6.example": {"::1"}, "mapped.example": {"::ffff:127.0.0.1"}, "private.example": {"10.9.8.7"},
		"meta.example": {"169.254.169.254"}, "azure.example": {"168.63.129.16"}, "ula.example": {"fd00::1"}, "own.example": {"9.9.9.9"},
	})
	g := newGuard(t, netguard.Options{Resolver: r, Own: []netip.Prefix{netip.MustParsePrefix("9.9.9.0/24")}})
	for host, reason := range map[string]string{
		"loop4.example": "loopback", "loop6.example": "loopback", "mapped.example": "loopback", "private.example": "private",
		"meta.example": "link-local", "azure.example": "metadata", "ula.example": "private", "own.example": "own", "localhost": "loopback",
	} {
		_, err := get(t, g, "https://"+host+"/")
		wantRefused(t, err, reason)
		conn, err := g.DialContext(t.Context(), "tcp", host+":443")
		if err == nil {
			_ = conn.Close()
		}
		wantRefused(t, err, reason)
	}
	_, err := g.DialContext(t.Context(), "unix", "/run/docker.sock:1")
	wantRefused(t, err, "network")
}

// The addresses of this machine's interfaces are refused, also public ones.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip(err)
	}
	g := newGuard(t, netguard.Options{})
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().Zone() != "" {
			continue
		}
		if g.CheckURL(&url.URL{Scheme: "https", Host: net.JoinHostPort(p.Addr().String(), "443")}) == nil {
			t.Errorf("%s is not refused", p.Addr())
		}
	}
}

func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	port := site(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") })
	names := map[string][]string{}
	for _, name := range []string{"a.example", "b.a.example", "other.example"} {
		names[name] = []string{"127.0.0.1"}
	}
	r := resolver(t, names)
	for _, c := range []struct {
		allow, host string
		reason      string // empty: it is reached
	}{
		{"a.example", "a.example", ""},
		{"A.Example.", "a.example", ""},
		{"a.example:" + port, "a.example", ""},
		{"a.example:1", "a.example", "http to"},
		{"a.example", "b.a.example", "http to"},
		{"*.a.example", "b.a.example", ""},
		{"*.a.example", "a.example", "http to"},
		{"a.example", "other.example", "http to"},
		{"127.0.0.1", "127.0.0.1", ""},
		{"127.0.0.1:" + port, "127.0.0.1", ""},
		{"127.0.0.0/8", "127.0.0.1", ""},
		{"127.0.0.0/8", "[::ffff:127.0.0.1]", ""},
		{"127.0.0.1", "2130706433", "unusual form"},
		{"10.0.0.0/8", "127.0.0.1", "http to"},
	} {
		g := newGuard(t, netguard.Options{Resolver: r, Allow: []string{c.allow}})
		text, err := get(t, g, "http://"+c.host+":"+port+"/")
		switch {
		case c.reason != "":
			wantRefused(t, err, c.reason)
		case err != nil || text != "inside":
			t.Errorf("%s with %s allowed: %q, %v", c.host, c.allow, text, err)
		}
	}
	for _, bad := range []string{"", "a b", "a.example:http", "*.", "[::1", "http://a.example", "0x7f.1", "a.example:0"} {
		if _, err := netguard.New(netguard.Options{Allow: []string{bad}}); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q is taken as an allowed host: %v", bad, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var got http.Header
	var port string
	port = site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/end":
			got = r.Header.Clone()
			_, _ = io.WriteString(w, "end")
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/twice":
			http.Redirect(w, r, "http://b.example:"+port+"/once", http.StatusFound)
		case "/once":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/temporary":
			http.Redirect(w, r, "http://b.example:"+port+"/end", http.StatusTemporaryRedirect)
		default:
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		}
	})
	r := resolver(t, map[string][]string{"a.example": {"127.0.0.1"}, "b.example": {"127.0.0.1"}, "inside.example": {"127.0.0.1"}})
	o := netguard.Options{Resolver: r, Allow: []string{"a.example", "b.example"}, Redirects: 3}
	g := newGuard(t, o)
	base := "http://a.example:" + port
	for to, reason := range map[string]string{
		"http://169.254.169.254/latest/meta-data/": "http to", "https://127.0.0.1/": "loopback", "https://inside.example/": "loopback",
		"https://0x7f.1/": "unusual form", "file:///etc/passwd": "scheme", "//user@a.example/": "user information",
	} {
		_, err := get(t, g, base+"/?to="+url.QueryEscape(to))
		wantRefused(t, err, reason)
	}
	_, err := get(t, g, base+"/loop")
	wantRefused(t, err, "more than 3 redirects")

	for path, kept := range map[string]bool{"/?to=/end": true, "/twice": false} {
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		q.Header.Set("X-Api-Key", "k")
		q.Header.Set("Accept", "text/plain")
		resp, err := g.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if (got.Get("X-Api-Key") == "k") != kept || got.Get("Accept") != "text/plain" {
			t.Errorf("%s ends with the headers %v", path, got)
		}
	}
	q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/temporary", strings.NewReader("secret"))
	resp, err := g.Client().Do(q)
	if err == nil {
		_ = resp.Body.Close()
	}
	wantRefused(t, err, "body")

	o.Redirects = 0
	q, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/loop", nil)
	resp, err = newGuard(t, o).Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("without redirects the status is %d", resp.StatusCode)
	}
}

// The Host header is the URL's: a virtual host that nobody checked cannot be asked for.
func TestTheHostHeaderIsTheURLs(t *testing.T) {
	t.Parallel()
	port := site(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
	g := newGuard(t, netguard.Options{Allow: []string{"127.0.0.1"}})
	q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port, nil)
	q.Host = "admin.internal"
	resp, err := g.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, _ := io.ReadAll(resp.Body); string(data) != "127.0.0.1:"+port {
		t.Errorf("the server was asked for the host %s", data)
	}
}

//nolint:paralleltest // it sets variables of the process
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	proxied := false
	proxy := site(t, func(http.ResponseWriter, *http.Request) { proxied = true })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+proxy)
	}
	port := site(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") })
	g := newGuard(t, netguard.Options{Resolver: resolver(t, map[string][]string{"a.example": {"127.0.0.1"}}), Allow: []string{"a.example"}})
	if text, err := get(t, g, "http://a.example:"+port); text != "direct" || err != nil || proxied {
		t.Errorf("%q, %v, proxied %v", text, err, proxied)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	port := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fits":
			_, _ = io.WriteString(w, strings.Repeat("a", 1000))
		case "/over":
			_, _ = io.WriteString(w, strings.Repeat("a", 1001))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 1<<20))
			_ = z.Close()
		case "/headers":
			w.Header().Set("X", strings.Repeat("a", 1<<20))
		case "/slow":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/silent":
			<-r.Context().Done()
		}
	})
	o := netguard.Options{Allow: []string{"127.0.0.1"}, MaxBytes: 1000}
	base := "http://127.0.0.1:" + port
	g := newGuard(t, o)
	if text, err := get(t, g, base+"/fits"); len(text) != 1000 || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for _, path := range []string{"/over", "/bomb"} {
		if text, err := get(t, g, base+path); len(text) > 1000 || !errors.Is(err, event.ErrTooLarge) {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
	if _, err := get(t, g, base+"/headers"); err == nil {
		t.Error("headers of 1 MiB are read")
	}
	o.Timeout = 50 * time.Millisecond
	g = newGuard(t, o)
	for _, path := range []string{"/slow", "/silent"} {
		if _, err := get(t, g, base+path); !errors.Is(err, event.ErrTimeout) {
			t.Errorf("%s: %v", path, err)
		}
	}
	o.Timeout, o.MaxBytes = -1, -1
	g = newGuard(t, o)
	if text, err := get(t, g, base+"/bomb"); len(text) != 1<<20 || err != nil {
		t.Errorf("without bounds %d bytes, %v", len(text), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	q, _ := http.NewRequestWithContext(ctx, http.MethodGet, base+"/silent", nil)
	resp, err := g.Client().Do(q)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, event.ErrTimeout) {
		t.Errorf("the caller's own deadline gives %v", err)
	}
}

func portOf(t *testing.T, port string) uint16 {
	t.Helper()
	a, err := netip.ParseAddrPort("127.0.0.1:" + port)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port()
}
