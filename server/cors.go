package server

import "github.com/braidrun/braid/internal/ownhost"

// crossing is what pages of the operator's other sites may do with the API.
func crossing(origins []string) ownhost.Cross {
	return ownhost.Cross{
		Origins: origins, Methods: "GET, POST, PATCH, DELETE",
		Headers: "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Prefer, Traceparent",
		Expose:  "ETag, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id, X-Run-Id",
	}
}
