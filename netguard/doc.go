// Package netguard carries HTTP requests to untrusted addresses, such as a tenant's webhook or the servers of
// an OpenAPI document.
//
//	guard, err := netguard.New(netguard.Options{Allow: []string{"intranet.example:8443"}})
//	if err != nil { … }
//	resp, err := guard.Client().Get(address)
//
// A guard connects to public addresses only. It refuses loopback, link-local, private and all other special-purpose addresses
// of the IANA registries, addresses of cloud metadata services, and the addresses of this machine. It checks the address that
// is being dialled, after the name was resolved, so a name that resolves differently the second time gains nothing. The rules
// apply to every request, therefore also to every redirect.
//
// Proxies of the environment are not used: a proxy would resolve the name where the guard cannot see the address.
//
// The operator may allow hosts by name, address or network; see [Options.Allow].
package netguard
