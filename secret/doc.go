// Package secret holds keys and tokens in a type that nothing prints.
//
// A [Secret] comes out as "[redacted]" through every verb of package fmt,
// through encoding/json and every other encoder that asks for text, through
// log/slog, and inside errors and structs. Its value is had in one way only,
// by [Secret.Reveal], so that a search for that word finds every place where a
// key is used.
package secret
