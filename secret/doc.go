// Package secret holds keys and tokens in a type that nothing prints.
//
// A [Secret] is printed as "[redacted]" by every verb of package fmt, by encoding/json and other
// text encoders, by log/slog, and inside errors and structs. Only [Secret.Reveal] returns its
// value, so that a search for that name finds every use of a key.
package secret
