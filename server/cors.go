package server

import "github.com/braidrun/braid/internal/hostcheck"

// crossing is what pages of the operator's other sites may do with the API.
func crossing(origins []string) hostcheck.Cross {
	return hostcheck.Cross{
		Origins: origins, Methods: "GET, POST, PUT, PATCH, DELETE",
		Headers: "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, Traceparent",
		Expose:  "Content-Disposition, ETag, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id, X-Run-Id",
	}
}
