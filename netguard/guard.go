package netguard

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/braidrun/braid/event"
)

const op = "netguard"

// The defaults of [Options], and bounds without an option.
const (
	defaultTimeout  = time.Minute
	defaultMaxBytes = 16 << 20
	maxHeaderBytes  = 256 << 10
	dialTimeout     = 10 * time.Second
	// ownFor is how long the addresses of this machine are kept.
	ownFor = 10 * time.Second
)

// Guard sends HTTP requests within its rules. It is an [http.RoundTripper] and safe for concurrent use.
type Guard struct {
	options   Options
	allowed   rules
	transport *http.Transport

	mu     sync.Mutex
	own    []netip.Addr
	ownEnd time.Time
}

// New returns a guard. It returns an error of kind [event.ErrInvalid] if an allowed host cannot be read.
func New(o Options) (*Guard, error) {
	allowed, err := parseRules(o.Allow)
	if err != nil {
		return nil, err
	}
	o.Timeout, o.MaxBytes = cmp.Or(o.Timeout, defaultTimeout), cmp.Or(o.MaxBytes, defaultMaxBytes)
	o.Ports, o.Own = slices.Clone(o.Ports), slices.Clone(o.Own)
	g := &Guard{options: o, allowed: allowed}
	g.transport = &http.Transport{
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return g, nil
}

// CheckURL returns an error if a URL cannot be requested whatever its host resolves to: its scheme, port, user information or
// the spelling of its host is not allowed, or the host is an address that is not public. It resolves nothing. Call it when a
// URL is entered; every request checks again.
func (g *Guard) CheckURL(u *url.URL) error {
	if u.User != nil {
		return refused("the URL contains user information", "Pass credentials in a header.")
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return refused("the scheme "+quoted(u.Scheme)+" is not allowed", "Use https.")
	}
	host := normal(u.Hostname())
	if why := checkHost(host); why != "" {
		return refused("the host "+quoted(u.Hostname())+" "+why, "Write a name, or an address in its usual form.")
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	if !validPort(port) {
		return refused("the port "+quoted(port)+" is not allowed", "Use a number from 1 to 65535.")
	}
	if g.allowed.host(host, port) {
		return nil
	}
	if u.Scheme == "http" && !g.options.Plain {
		return refused("http to "+quoted(host)+" is not allowed", "Use https.")
	}
	if !g.publicPort(port) {
		return refused("the port "+port+" of "+quoted(host)+" is not allowed", "Use the default port, or ask the operator to allow the host.")
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return g.checkAddr(host, a)
	}
	return nil
}

func (g *Guard) publicPort(port string) bool {
	if port == "443" || port == "80" && g.options.Plain {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && slices.Contains(g.options.Ports, uint16(n))
}

// checkAddr returns an error if an address that host has may not be dialled.
func (g *Guard) checkAddr(host string, a netip.Addr) error {
	if g.allowed.addr(a) {
		return nil
	}
	why, public := Public(a)
	if public && g.isOwn(a.Unmap()) {
		why, public = "this machine's own", false
	}
	if public {
		return nil
	}
	return refused("the address of "+quoted(host)+" is not public ("+why+")", "Use a public host, or ask the operator to allow this one.")
}

// isOwn reports whether an address belongs to this machine or to its service.
func (g *Guard) isOwn(a netip.Addr) bool {
	for _, p := range g.options.Own {
		if p.Contains(a) {
			return true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.After(g.ownEnd) {
		// A machine whose interfaces cannot be listed has no own addresses that could be checked.
		addrs, _ := net.InterfaceAddrs()
		g.own, g.ownEnd = g.own[:0], now.Add(ownFor)
		for _, one := range addrs {
			if p, err := netip.ParsePrefix(one.String()); err == nil {
				g.own = append(g.own, p.Addr().Unmap())
			}
		}
	}
	return slices.Contains(g.own, a)
}

// DialContext connects to a host within the rules for addresses. It is for connections other than HTTP, and checks neither
// scheme nor port. address is "host:port".
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(network, "tcp") {
		return nil, refused("the network "+quoted(network)+" is not allowed", "Use tcp.")
	}
	host = normal(host)
	if why := checkHost(host); why != "" {
		return nil, refused("the host "+quoted(host)+" "+why, "Write a name, or an address in its usual form.")
	}
	d := net.Dialer{Timeout: dialTimeout, Resolver: g.options.Resolver}
	if !g.allowed.host(host, port) {
		d.Control = func(_, dialled string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(dialled)
			if err != nil {
				return refused("the address of "+quoted(host)+" cannot be read", "Use another host.")
			}
			return g.checkAddr(host, to.Addr())
		}
	}
	conn, err := d.DialContext(ctx, network, net.JoinHostPort(host, port))
	if err == nil {
		return conn, nil
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return nil, e // without the address, which the tenant shall not learn
	}
	return nil, err
}

// CloseIdleConnections closes the connections that no request uses.
func (g *Guard) CloseIdleConnections() { g.transport.CloseIdleConnections() }

func refused(message, hint string) *event.Error {
	return &event.Error{Op: op, Kind: event.ErrPermission, Message: message, Hint: hint}
}
