// Package vendor holds the common parts of clients of vendors' servers: sending requests, reading
// Retry-After, cleaning the server's messages, errors of cancelled calls, and valid addresses. The
// client decides what an error of its server means.
package vendor
