package attachment

import (
	"net/url"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
)

// Check returns the block of an attachment that a client described as b, as [New] does for its bytes. It accepts
// [event.Image] and [event.Document] with Data, a Document with Text, [event.Media] with an address, and [event.Text]. It
// does not change b. Images and documents by address, and other blocks, are [event.ErrUnsupported].
func Check(name string, b event.Block) (event.Block, error) {
	switch b := b.(type) {
	case *event.Text:
		return b, nil
	case *event.Image:
		if b.URL != "" {
			return nil, byAddress(name)
		}
		made, err := New(name, b.MIME, b.Data)
		if doc, ok := made.(*event.Document); ok {
			return nil, invalid(name, "is no image: its bytes are "+doc.MIME, "send it as a document")
		}
		return made, err
	case *event.Document:
		if name == "" {
			name = b.Name
		}
		data := b.Data
		switch {
		case b.URL != "":
			return nil, byAddress(name)
		case b.Text != "" && len(data) > 0:
			return nil, invalid(name, "has both a text and bytes", "send one of them")
		case b.Text != "":
			data = []byte(b.Text)
		}
		made, err := New(name, b.MIME, data)
		if img, ok := made.(*event.Image); ok {
			return nil, invalid(name, "is no document: its bytes are "+img.MIME, "send it as an image")
		}
		return made, err
	case *event.Media:
		return reference(name, b)
	}
	return nil, unreadable(name, "is of a kind that is not taken here", "send an image, a document, or sound by its address")
}

func byAddress(name string) error {
	return unreadable(name, "is an address", "send the bytes, or the path of a file in the conversation's workspace")
}

// reference checks sound or film by address. Braid does not fetch it: the model's provider does.
func reference(name string, b *event.Media) (event.Block, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	u, err := url.Parse(b.URL)
	switch {
	case b.Media != "audio" && b.Media != "video":
		return nil, invalid(name, "is neither audio nor video", "send one of them as its kind")
	case b.URL == "":
		return nil, invalid(name, "has no address", "send the address of the recording as url")
	case len(b.URL) > MaxURL || err != nil || u.Host == "" || u.Opaque != "":
		return nil, invalid(name, "has an address that cannot be read", "send one such as https://host/path, of at most 2,048 bytes")
	case u.Scheme != "https" && u.Scheme != "gs" && u.Scheme != "s3":
		return nil, invalid(name, "has an address with the scheme "+u.Scheme, "use https, gs or s3")
	case u.User != nil:
		return nil, invalid(name, "has an address with a password", "send a signed address instead")
	}
	kind := media.Kind(b.MIME)
	if kind == "" {
		kind = media.Named(b.URL)
	}
	if kind != "" && !strings.HasPrefix(kind, b.Media+"/") {
		return nil, invalid(name, "is declared as "+kind+", which is no "+b.Media, "send it with its own type")
	}
	return &event.Media{Media: b.Media, MIME: kind, URL: b.URL}, nil
}
