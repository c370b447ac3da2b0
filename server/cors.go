package server

import "github.com/braidrun/braid/internal/hostcheck"

// crossing is what pages of the operator's other sites may do with the API.
func crossing(origins []string) hostcheck.Cross {
	return hostcheck.Cross{
		Origins: origins, Methods: "GET, POST, PATCH, DELETE",
		Headers: "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Prefer, Traceparent",
		Expose:  "ETag, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id, X-Run-Id",
	}
}
