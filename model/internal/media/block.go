package media

import (
	"bytes"
	"strings"

	"github.com/braidrun/braid/event"
)

// Image is an image as providers want it: data out of its address, its kind in the
// form of [Kind]. What the bytes say goes before what was said of them, because vendors refuse
// a picture under another kind; without bytes the kind is that of the address's
// end, or "". It is b itself where there is nothing to do; b is never changed.
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

// Document is the same for a document. A kind that was said stands; otherwise the
// bytes decide, and the ends of name and address where they leave it open, as text
// and archives do.
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

// isText reports whether there is data, and it is text.
func isText(data []byte) bool {
	return len(data) > 0 && bytes.IndexByte(data[:min(len(data), 512)], 0) < 0 && Sniffed(data) == "text/plain"
}

// Media is the same for sound and film, which come by address only. Data in the
// address stays there: there is no other place for it.
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

// loaded takes data out of an address where there is no other. A kind that was said
// of the file goes before that of the address.
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
