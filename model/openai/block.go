package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// set copies the model's settings.
func (e *encoder) set(m *Model) {
	e.api, e.vendors, e.thinks, e.dialect, e.host = m.api, m.vendors, m.thinks, &m.dialect, m.host
	e.prefix, e.office, e.marks = m.prefix, m.office(), m.marks()
}

// Mark implements [reqcache.Encoder], with Cut and Size.
func (e *encoder) Mark() reqcache.Mark {
	return reqcache.Mark{End: len(e.dst), IDs: e.ids.Len(), Blocks: e.point}
}

func (e *encoder) Cut(to reqcache.Mark) {
	e.ids.Cut(to.IDs)
	e.dst = e.dst[:to.End]
}

func (e *encoder) Size() int {
	return cap(e.dst) + cap(e.served) + cap(e.head.Made()) + cap(e.output.member) + cap(e.output.schema)
}

// Encode appends a message and a comma. A message may become several messages of the API.
func (e *encoder) Encode(m *event.Message) {
	at := len(e.dst)
	e.aside, e.point = e.aside[:0], 0
	if m.Role != event.RoleAssistant {
		e.input(m.Content)
	} else {
		e.ids.Answer()
		if e.api == Responses {
			e.answerItems(m.Content)
		} else {
			e.answerMessage(m.Content)
		}
	}
	if len(e.dst) == at {
		// The API refuses messages without content. Leaving the message out would break the
		// order of roles.
		e.single(m.Role, "[nothing]")
	}
}

// single writes a message with one text.
func (e *encoder) single(role event.Role, text string) {
	switch {
	case e.api == Responses && role == event.RoleAssistant:
		e.raw(`{"role":"assistant","content":[{"type":"output_text","text":`)
		e.str(text)
		e.raw(`}]},`)
	case e.api == Responses:
		e.raw(`{"role":"user","content":[{"type":"input_text","text":`)
		e.str(text)
		e.raw(`}]},`)
	case role == event.RoleAssistant:
		e.raw(`{"role":"assistant","content":`)
		e.str(text)
		e.raw(`},`)
	case e.marks:
		e.raw(`{"role":"user","content":[{"type":"text","text":`)
		e.str(text)
		e.raw(`}]},`)
		e.point = pointInText
	default:
		e.raw(`{"role":"user","content":`)
		e.str(text)
		e.raw(`},`)
	}
}

// input writes the content of a user message. Results come first, because Chat Completions
// requires them directly after their calls.
func (e *encoder) input(content []event.Block) {
	for _, b := range content {
		if r, ok := b.(*event.ToolResult); ok {
			e.result(r)
		}
	}
	e.beginParts()
	for _, b := range e.aside {
		e.content(b)
	}
	for _, b := range content {
		if _, ok := b.(*event.ToolResult); !ok {
			e.content(b)
		}
	}
	switch {
	case e.count == 0:
	case e.count == 1 && e.only != "":
		e.single(event.RoleUser, e.only)
	default:
		e.raw(`{"role":"user","content":`)
		e.putParts()
		e.raw(`},`)
		if e.point = 0; e.marks && e.texts {
			e.point = pointInText
		}
	}
}

// result writes a tool result under the wire id of its call.
func (e *encoder) result(b *event.ToolResult) {
	id := e.ids.Of(b.Call)
	e.beginParts()
	for _, c := range b.Content {
		if _, text := c.(*event.Text); !text && e.api == ChatCompletions {
			// A tool message can hold only text. Other blocks follow in a user message.
			e.aside = append(e.aside, c)
			continue
		}
		e.content(c)
	}
	if len(b.Content) == 0 && len(b.Structured) > 0 {
		e.text(string(b.Structured))
	}
	if e.api == Responses {
		e.raw(`{"type":"function_call_output","call_id":`)
		e.str(id)
		e.raw(`,"output":`)
	} else {
		e.raw(`{"role":"tool","tool_call_id":`)
		e.str(id)
		e.raw(`,"content":`)
	}
	switch {
	case e.count == 0:
		e.str("[nothing]")
	case e.count == 1 && e.only != "":
		e.str(e.only)
	default:
		e.putParts()
	}
	e.raw(`},`)
	if e.marks {
		e.point = pointAtTool
	}
}

func (e *encoder) beginParts() { e.parts, e.count, e.only = e.parts[:0], 0, "" }

func (e *encoder) putParts() {
	e.dst = append(append(e.dst, '['), e.parts[:len(e.parts)-1]...)
	e.dst = append(e.dst, ']')
}

// content writes a block of a user message or of a tool result.
func (e *encoder) content(b event.Block) {
	switch b := b.(type) {
	case *event.Text:
		e.text(b.Text)
	case *event.Image:
		e.image(b)
	case *event.Document:
		e.document(b)
	case *event.Media:
		e.text(strings.TrimSpace("[" + b.Media + " " + b.URL + "]"))
	case *event.Code:
		e.text("```" + b.Language + "\n" + b.Code + "\n```")
	case *event.CodeResult:
		e.text(b.Output)
	case *event.Citation:
		e.text(strings.TrimSpace(b.Quote + " " + b.URL))
	default: // thinking and calls belong to assistant messages; unknown kinds belong to other vendors
	}
}

// text writes a text part. It skips blank text.
func (e *encoder) text(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	if e.only = ""; e.count == 0 {
		e.only = s
	}
	if e.api == Responses {
		e.part(`{"type":"input_text","text":`)
	} else {
		e.part(`{"type":"text","text":`)
	}
	e.parts = append(strictjson.AppendString(e.parts, s), '}', ',')
	e.texts = true
}

func (e *encoder) part(s string) {
	e.parts = append(e.parts, s...)
	e.count++
	e.texts = false
}

// imageKinds are the image types that the models read (guides/images-vision).
var imageKinds = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func (e *encoder) image(b *event.Image) {
	b = media.Image(b)
	kind := b.MIME
	if id := fileID(e.prefix, b.URL); id != "" && len(b.Data) == 0 && e.api == Responses {
		e.only = ""
		e.part(`{"type":"input_image","detail":"auto","file_id":`)
		e.parts = append(strictjson.AppendString(e.parts, id), '}', ',')
		return
	}
	if (len(b.Data) == 0 && !media.Web(b.URL)) || (len(b.Data) > 0 && !slices.Contains(imageKinds, kind)) {
		e.text("[an image that cannot be shown]")
		return
	}
	e.only = ""
	if e.api == Responses {
		e.part(`{"type":"input_image","detail":"auto","image_url":`)
	} else {
		e.part(`{"type":"image_url","image_url":{"url":`)
	}
	if len(b.Data) > 0 {
		e.data(kind, b.Data)
	} else {
		e.parts = strictjson.AppendString(e.parts, b.URL)
	}
	if e.api == ChatCompletions {
		e.parts = append(e.parts, '}')
	}
	e.parts = append(e.parts, '}', ',')
}

// data writes a data URL.
func (e *encoder) data(kind string, b []byte) {
	e.parts = append(append(append(e.parts, `"data:`...), kind...), `;base64,`...)
	e.parts = append(base64.StdEncoding.AppendEncode(e.parts, b), '"')
}

// The forms in which a document is sent.
const (
	asText    = "text"
	asFile    = "file"
	asAddress = "address"
	asID      = "id"
)

// documentForm returns the form in which to send a document; "" if the server cannot read it
// (guides/file-inputs). Most servers other than OpenAI's take no files.
func (e *encoder) documentForm(b *event.Document) string {
	kind := b.MIME
	files := e.vendors || e.api == Responses || e.dialect != nil && e.dialect.Files
	pdf, office := kind == "application/pdf", e.office && slices.Contains(officeKinds, kind)
	switch {
	case b.Text != "":
		return asText
	case files && len(b.Data) > 0 && (pdf || office):
		return asFile
	case len(b.Data) > 0 && (strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml"):
		return asText
	case len(b.Data) > 0:
		return ""
	case fileID(e.prefix, b.URL) != "" && e.vendors:
		return asID
	case e.api == Responses && media.Web(b.URL) && !keptElsewhere(b.URL) && (kind == "" || pdf || office):
		return asAddress
	default:
		return ""
	}
}

// officeKinds are the Office documents that OpenAI reads with Responses (guides/file-inputs,
// accepted file types). Tables in text formats are sent as text.
var officeKinds = []string{
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
	"application/vnd.oasis.opendocument.text", "application/rtf",
}

// office reports whether the server reads Office documents. Only OpenAI's own does.
func (m *Model) office() bool { return m.vendors && !m.azure && m.api == Responses }

func (e *encoder) document(b *event.Document) {
	b = media.Document(b)
	form := e.documentForm(b)
	switch form {
	case asText:
		text := b.Text
		if text == "" {
			text = strings.ToValidUTF8(string(b.Data), "\uFFFD")
		}
		if b.Name != "" && strings.TrimSpace(text) != "" {
			text = b.Name + ":\n\n" + text
		}
		e.text(text)
		return
	case "":
		e.text(strings.TrimSpace("[a document that cannot be shown " + b.Name + "]"))
		return
	}
	open, shut := `{"type":"input_file"`, `},`
	if e.api == ChatCompletions {
		open, shut = `{"type":"file","file":{`, `}},`
	}
	e.part(open)
	member := func(name, value string) {
		if e.parts[len(e.parts)-1] != '{' {
			e.parts = append(e.parts, ',')
		}
		e.parts = append(append(append(e.parts, '"'), name...), `":`...)
		if value != "" {
			e.parts = strictjson.AppendString(e.parts, value)
		}
	}
	switch form {
	case asID:
		member("file_id", fileID(e.prefix, b.URL))
	case asAddress:
		member("file_url", b.URL)
	default:
		member("filename", cmp.Or(b.Name, "document"+ending(b.MIME)))
		member("file_data", "")
		e.data(b.MIME, b.Data)
	}
	e.only = ""
	e.parts = append(e.parts, shut...)
}

// ending returns the file name extension for a type. The vendor detects the type by it.
func ending(kind string) string {
	switch i := slices.Index(officeKinds, kind); {
	case i >= 0:
		return []string{".docx", ".xlsx", ".pptx", ".doc", ".xls", ".ppt", ".odt", ".rtf"}[i]
	default:
		return ".pdf"
	}
}

// arguments writes a call's arguments as a string of JSON. OpenAI accepts any string, but other
// servers parse it and require an object. Other and malformed arguments are wrapped in an
// object.
func (e *encoder) arguments(b *event.ToolCall) {
	args := bytes.TrimSpace(b.Args)
	usable := len(args) > 0 && b.Fault == "" && strictjson.Check(args, strictjson.DefaultDepth) == nil
	switch {
	case usable && args[0] == '{':
		e.str(string(args))
	case usable:
		e.str(`{"value":` + string(args) + `}`)
	case b.Invalid != "":
		e.str(string(append(strictjson.AppendString([]byte(`{"unreadable":`), b.Invalid), '}')))
	default:
		e.str("{}")
	}
}

func (e *encoder) raw(s string) { e.dst = append(e.dst, s...) }
func (e *encoder) str(s string) { e.dst = strictjson.AppendString(e.dst, s) }

// unsupported returns an error if the newest user message contains content that the server
// cannot read. Older content was already answered; the encoder describes it in text.
func (m *Model) unsupported(messages []event.Message) error {
	if len(messages) == 0 || messages[len(messages)-1].Role != event.RoleUser {
		return nil
	}
	e := encoder{}
	e.set(m)
	for _, b := range messages[len(messages)-1].Content {
		switch b := b.(type) {
		case *event.Image:
			b = media.Image(b)
			switch {
			case len(b.Data) > 0 && !slices.Contains(imageKinds, b.MIME):
				return notSent(event.ErrUnsupported, "the model does not read images of the kind %q", "send JPEG, PNG, GIF or WebP", b.MIME)
			case len(b.Data) == 0 && fileID(m.prefix, b.URL) != "" && m.api == Responses:
			case len(b.Data) == 0 && keptElsewhere(b.URL):
				return m.notHere(b.URL, "an image")
			case len(b.Data) == 0 && b.URL == "":
				return notSent(event.ErrInvalid, "there is an image without data", "give its bytes or its address")
			case len(b.Data) == 0 && !media.Web(b.URL):
				return notSent(event.ErrUnsupported, "the model does not read images from such an address",
					"give an address of the web, or the bytes")
			}
		case *event.Document:
			b = media.Document(b)
			if e.documentForm(b) != "" {
				continue
			}
			if len(b.Data) == 0 && b.Text == "" && keptElsewhere(b.URL) {
				return m.notHere(b.URL, "a document")
			}
			hint := "send PDF or text"
			if m.office() {
				hint = "send PDF, an Office document, or text"
			}
			switch {
			case !m.vendors && m.api == ChatCompletions && !m.dialect.Files:
				hint = "send text: only OpenAI's own address takes other files by Chat Completions"
			case m.api == ChatCompletions:
				hint = "send PDF, as data, or text"
			}
			return notSent(event.ErrUnsupported, "the model does not read documents of the kind %q", hint, b.MIME)
		case *event.Media:
			return notSent(event.ErrUnsupported, "the model does not take %s", "send text, images, PDF or a transcript", b.Media)
		}
	}
	return nil
}
