package vendor

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"syscall"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Unreached returns the error of a call without a response: no server listens, the host does not
// exist, or the network failed. base is the server's address, next the hint.
func Unreached(op, title, base, next string, err error) *event.Error {
	place := base
	if u, parsed := url.Parse(base); parsed == nil && u.Host != "" {
		place = u.Host
	}
	e := &event.Error{
		Op: op, Kind: event.ErrUnavailable, Code: model.CodeUnreachable, Message: title + " cannot be reached at " + place, Hint: next, Err: err,
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		e.Code, e.Message = model.CodeNoHost, title+" cannot be reached: there is no host "+strconv.Quote(dns.Name)
		return e
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		e.Code, e.Message = model.CodeRefused, title+" cannot be reached: no server listens at "+place
		if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "proxyconnect" {
			e.Message = title + " cannot be reached at " + place + ": the proxy refused the connection"
		}
	}
	return e
}
