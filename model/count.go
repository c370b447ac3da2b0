package model

import (
	"context"
	"io"

	"github.com/braidrun/braid/event"
)

// Counter is a [Model] whose provider can count the tokens of a request. Use [Count], which looks
// through wrappers.
type Counter interface {
	Model
	// CountTokens returns how many tokens the provider reads for req. It makes one call.
	CountTokens(ctx context.Context, req *Request) (int64, error)
}

// Count returns the provider's own count of req's tokens. It returns an error of kind
// [event.ErrUnsupported] if the provider cannot count; [Request.Tokens] estimates.
func Count(ctx context.Context, m Model, req *Request) (int64, error) {
	c, ok := find[Counter](m)
	if !ok {
		return 0, &event.Error{
			Op: "count tokens", Kind: event.ErrUnsupported, Message: "the provider of the model counts no tokens",
			Hint: "use Request.Tokens, which estimates",
		}
	}
	return c.CountTokens(ctx, req)
}

// FileStore is a [Model] whose provider stores files, so that a file is sent once and used in many
// requests. Use [Files], which looks through wrappers.
type FileStore interface {
	Model
	// Upload sends a file and returns its address, for the URL of an [event.Document] or an
	// [event.Image].
	Upload(ctx context.Context, f File) (url string, err error)
	// Delete deletes a file that Upload has sent. It returns nil if the file is gone.
	Delete(ctx context.Context, url string) error
}

// File is a file to upload. Content is read once.
type File struct {
	Name    string
	MIME    string
	Content io.Reader
}

// Files returns the file store of m's provider, or nil if it has none.
func Files(m Model) FileStore {
	f, _ := find[FileStore](m)
	return f
}

// find returns the first model with T's methods in m and the models that it wraps.
func find[T any](m Model) (T, bool) {
	for m != nil {
		if t, ok := m.(T); ok {
			return t, true
		}
		w, ok := m.(interface{ Unwrap() Model })
		if !ok {
			break
		}
		m = w.Unwrap()
	}
	var none T
	return none, false
}
