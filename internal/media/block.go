package media

import (
	"bytes"
	"strings"

	"github.com/braidrun/braid/event"
)

// Image returns an image in the form that providers need: data taken out of its address, and its
// kind in the form of [Kind]. The kind of the bytes overrides the declared one, because vendors
// refuse a picture under another kind. Without bytes the kind is that of the address's extension,
// or "". It returns b itself if nothing changes, and never changes b.
func Image(b *event.Image) *event.Image {
	n := *b
	n.MIME, n.Data, n.URL = loaded(b.MIME, b.Data, b.URL)
	kind := Kind(n.MIME)
	seen := Sniffed(n.Data)
	switch {
	case strings.HasPrefix(seen, "image/"):
		kind = seen
	case kind == "" && len(n.Data) > 0:
		kind = seen
	case kind == "":
		kind = Named(n.URL)
	}
	n.MIME = kind
	if n.MIME == b.MIME && n.URL == b.URL {
		return b
	}
	return &n
}

// Document does the same for a document. A declared kind is kept. Otherwise the bytes decide, and
// for ambiguous bytes, such as text and archives, the extensions of name and address.
func Document(b *event.Document) *event.Document {
	n := *b
	n.MIME, n.Data, n.URL = loaded(b.MIME, b.Data, b.URL)
	kind := Kind(n.MIME)
	if kind == "" {
		kind = Sniffed(n.Data)
		named := Named(n.Name)
		if named == "" {
			named = Named(n.URL)
		}
		if named != "" && (kind == "" && !isText(n.Data) || kind == "text/plain" && !strings.HasPrefix(named, "image/")) {
			kind = named
		}
	}
	n.MIME = kind
	if n.MIME == b.MIME && n.URL == b.URL {
		return b
	}
	return &n
}

// isText reports whether there is data and it is text.
func isText(data []byte) bool {
	return len(data) > 0 && bytes.IndexByte(data[:min(len(data), 512)], 0) < 0 && Sniffed(data) == "text/plain"
}

// Media does the same for audio and video, which have an address only. Data stays in the address.
func Media(b *event.Media) *event.Media {
	kind := Kind(b.MIME)
	if kind == "" {
		if said, _, ok := Data(b.URL); ok {
			kind = Kind(said)
		} else {
			kind = Named(b.URL)
		}
	}
	if kind == b.MIME {
		return b
	}
	n := *b
	n.MIME = kind
	return &n
}

// loaded takes data out of an address if there is no other data. A declared kind overrides that of
// the address.
func loaded(kind string, data []byte, address string) (string, []byte, string) {
	if len(data) > 0 {
		return kind, data, address
	}
	said, data, ok := Data(address)
	if !ok || len(data) == 0 {
		return kind, nil, address
	}
	if Kind(kind) == "" {
		kind = said
	}
	return kind, data, ""
}
