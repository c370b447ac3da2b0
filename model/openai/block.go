package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/media"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/toolname"
)

// encoder writes messages as an API takes them. It never fails: what the API
// does not take is turned into something that it does, by the rules that stand
// beside each kind, so that a history that was written under another provider
// goes on here. Whether the newest input can be sent is asked before, of
// [Model.unsupported].
type encoder struct {
	// These are the model's.
	api             API
	vendors, thinks bool
	dialect         *Dialect
	host            string
	// prefix begins the addresses of files that the server keeps.
	prefix string
	// office says that it reads Office documents, marks that messages have cache points.
	office, marks bool

	dst []byte
	ids toolname.IDs
	// head is what stands before the messages.
	head reqcache.Head[[]byte]
	// served are the tools in it that the vendor runs, each with a comma behind it; nulled
	// are the members of strict tools that are null where they are missing, by tool.
	served []byte
	nulled map[string]map[string]bool
	// output is how the last answer was held to a schema.
	output output
	// parts are those of the content that is being written, count how many they
	// are; only is the text of a single one. aside holds what a result has and
	// its message cannot.
	parts []byte
	count int
	only  string
	aside []event.Block
	// point is how far in front of its end the last message can have a cache point; 0 is
	// nowhere. texts says that the last part is a text.
	point int
	texts bool
}

// set gives the encoder what it needs to know of the model.
func (e *encoder) set(m *Model) {
	e.api, e.vendors, e.thinks, e.dialect, e.host = m.api, m.vendors, m.thinks, &m.dialect, m.host
	e.prefix, e.office, e.marks = m.prefix, m.office(), m.marks()
}

// Mark, Cut and Size are those of [reqcache.Encoder].
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

// Encode writes a message, as one or several of the API's, and a comma.
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
		// A message without content is refused, and none would leave a gap.
		e.single(m.Role, "[nothing]")
	}
}

// single writes a message of one text.
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

// input writes what came from people and tools; results come first, because
// Chat Completions wants them right behind their calls.
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

// result writes a tool's result under the id that its call has.
func (e *encoder) result(b *event.ToolResult) {
	id := e.ids.Of(b.Call)
	e.beginParts()
	for _, c := range b.Content {
		if _, text := c.(*event.Text); !text && e.api == ChatCompletions {
			// A tool's message holds text; the rest follows in one of a person.
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

// content writes a block that a person's message and a result may hold.
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
	default: // thinking and calls are the model's; nobody else knows the rest
	}
}

// text adds a text part, unless it is blank.
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

// The kinds of images that the models read (guides/images-vision).
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

// data adds an address that holds the data itself.
func (e *encoder) data(kind string, b []byte) {
	e.parts = append(append(append(e.parts, `"data:`...), kind...), `;base64,`...)
	e.parts = append(base64.StdEncoding.AppendEncode(e.parts, b), '"')
}

// How a document goes to the server.
const (
	asText    = "text"
	asFile    = "file"
	asAddress = "address"
	asID      = "id"
)

// documentForm is how a document goes to the server; "" is one that cannot be read
// (guides/file-inputs). Most other servers than the vendor's know no files.
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

// officeKinds are the Office documents and tables that OpenAI reads by Responses
// (guides/file-inputs, accepted file types). Tables as text go as text.
var officeKinds = []string{
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
	"application/vnd.oasis.opendocument.text", "application/rtf",
}

// office reports whether the server reads Office documents: OpenAI's own does.
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

// ending is the end of a name for a file of a kind, by which the vendor knows it too.
func ending(kind string) string {
	switch i := slices.Index(officeKinds, kind); {
	case i >= 0:
		return []string{".docx", ".xlsx", ".pptx", ".doc", ".xls", ".ppt", ".odt", ".rtf"}[i]
	default:
		return ".pdf"
	}
}

// arguments writes a call's arguments: a string of JSON. OpenAI takes any, other
// servers read it again and want an object: others, and those that nobody could
// read, are put into one.
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

// unsupported says what is wrong with new input that the model's server cannot
// read. What is older has been answered, by this model or another, and is told
// in words.
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
