// Package provider holds the common parts of model providers as clients of vendors' servers:
// Retry-After, cleaned messages, errors of cancelled calls, and valid addresses. The provider
// decides what an error means.
package provider
