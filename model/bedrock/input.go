package bedrock

import (
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
)

// largestDocument is the maximum size of a document in bytes: 4.5 MB (API_runtime_Message).
const largestDocument = 4_718_592

// unsupported returns an error for new input that the model cannot read. Older input was already answered, by this
// model or another one, and is described in words.
func (m *setup) unsupported(messages []event.Message) error {
	if len(messages) == 0 || messages[len(messages)-1].Role != event.RoleUser {
		return nil
	}
	last := &messages[len(messages)-1]
	for _, b := range last.Content {
		if err := m.unreadable(b); err != nil {
			return err
		}
	}
	return nil
}

func (m *setup) unreadable(b event.Block) error {
	const fetch = "give its bytes, or, for Nova, an address in S3"
	f := &m.family
	switch b := b.(type) {
	case *event.Image:
		b = media.Image(b)
		switch {
		case len(b.Data) == 0 && b.URL == "":
			return notSent(event.ErrInvalid, "there is an image without data", "give its bytes")
		case f.noImages:
			return notSent(event.ErrUnsupported, "the model %q does not look at images", "describe it, or take a model that does", m.name)
		case len(b.Data) == 0 && (!f.stored || !stored(b.URL)):
			return notSent(event.ErrUnsupported, "Amazon Bedrock fetches no images from the web", fetch)
		case imageFormat(b) == "":
			return notSent(event.ErrUnsupported, "Amazon Bedrock does not read images of the kind %q", "send PNG, JPEG, GIF or WebP", b.MIME)
		case len(b.Data) > f.largestImage:
			return notSent(event.ErrTooLarge, "an image has %d bytes, and the model takes %d", "make it smaller", len(b.Data), f.largestImage)
		}
	case *event.Document:
		b = media.Document(b)
		switch {
		case len(b.Data) == 0 && b.Text == "" && (!f.stored || !stored(b.URL)):
			return notSent(event.ErrUnsupported, "Amazon Bedrock fetches no documents from the web", fetch)
		case documentFormat(b) == "":
			return notSent(event.ErrUnsupported, "Amazon Bedrock does not read documents of the kind %q",
				"send PDF, Word, Excel, CSV, HTML, Markdown or text", b.MIME)
		case f.noDocuments && b.Text == "" && !strings.HasPrefix(b.MIME, "text/"):
			return notSent(event.ErrUnsupported, "the model %q does not read documents", "send its text, or take a model that does", m.name)
		case len(b.Data) > largestDocument || len(b.Text) > largestDocument:
			return notSent(event.ErrTooLarge, "a document has more than %d bytes", "send a part of it, or its text", largestDocument)
		}
	case *event.Media:
		b = media.Media(b)
		if !f.video || videoFormat(b) == "" || !stored(b.URL) {
			return notSent(event.ErrUnsupported, "the model %q does not take %s in this form",
				"send text, images or documents; Nova also looks at films that lie in S3", m.name, b.Media)
		}
	}
	return nil
}
