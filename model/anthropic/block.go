package anthropic

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// Mark implements [reqcache.Encoder], with Cut and Size.
func (e *encoder) Mark() reqcache.Mark {
	return reqcache.Mark{End: len(e.dst), IDs: e.ids.Len(), Blocks: e.blocks}
}

func (e *encoder) Cut(to reqcache.Mark) {
	e.ids.Cut(to.IDs)
	e.dst = e.dst[:to.End]
	e.chain.Cut(to.End)
}

func (e *encoder) Size() int { return cap(e.dst) + cap(e.head.made) + e.chain.Size() }

// Encode appends the message and a comma.
func (e *encoder) Encode(m *event.Message) {
	e.blocks, e.aside, e.cited = 0, e.aside[:0], -1
	switch m.Role {
	case event.RoleAssistant:
		e.open()
		e.answer(m.Content)
		end, blocks := e.chain.Trailing(len(e.dst))
		e.dst, e.blocks = e.dst[:end], e.blocks-blocks
	case roleSystem:
		e.system(m.Content)
	default:
		e.dst = append(e.dst, `{"role":"user","content":[`...)
		e.input(m.Content)
	}
	if e.blocks == 0 {
		// The API refuses messages without content and blank text.
		e.text("[nothing]")
	}
	e.dst = append(e.dst[:len(e.dst)-1], `]},`...)
	e.chain.Close(e.dst)
}

// open begins an assistant message.
func (e *encoder) open() {
	e.ids.Answer()
	e.dst = append(e.dst, `{"role":"assistant","content":[`...)
}

// answer writes the content of an assistant message.
func (e *encoder) answer(content []event.Block) {
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			e.text(b.Text)
		case *event.Thinking:
			// The API refuses thinking without its signature.
			if ours(b.Signature) {
				from := len(e.dst)
				e.begin(`{"type":"thinking","thinking":`)
				e.str(b.Text)
				e.key(`,"signature":`)
				e.str(b.Signature)
				e.end()
				e.chain.Think(from, len(e.dst), b.Signature, b.Prefix)
			}
		case *event.RedactedThinking:
			if ours(b.Data) {
				from := len(e.dst)
				e.begin(`{"type":"redacted_thinking","data":`)
				e.str(b.Data)
				e.end()
				e.chain.Think(from, len(e.dst), b.Data, b.Prefix)
			}
		case *event.ToolCall:
			e.call(b)
		case *event.Code:
			e.text("```" + b.Language + "\n" + b.Code + "\n```")
		case *event.CodeResult:
			e.text("[" + b.Outcome + "] " + b.Output)
		case *event.UnknownBlock:
			e.vendors(b)
		case *event.Image, *event.Document, *event.Media:
			// The API refuses these kinds in assistant messages.
			e.text("[" + string(b.BlockKind()) + "]")
		default: // a citation repeats the text
		}
	}
}

// input writes the content of a user message. The API requires tool results first.
func (e *encoder) input(content []event.Block) {
	for _, b := range content {
		if r, ok := b.(*event.ToolResult); ok {
			e.result(r)
		}
	}
	for _, b := range e.aside {
		e.content(b)
	}
	for _, b := range content {
		if _, ok := b.(*event.ToolResult); !ok {
			e.content(b)
		}
	}
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

// text writes a text block. It skips blank text, which the API refuses.
func (e *encoder) text(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	e.begin(`{"type":"text","text":`)
	e.str(s)
	e.end()
	e.cited = len(e.dst)
}

// The kinds of images that the API reads (build-with-claude/vision).
var imageKinds = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func (e *encoder) image(b *event.Image) {
	b = media.Image(b)
	switch kind := b.MIME; {
	case len(b.Data) == 0 && !e.files && fileID(b.URL) != "":
		e.begin(`{"type":"image","source":{"type":"file","file_id":`)
		e.str(fileID(b.URL))
		e.key(`}`)
		e.end()
	case len(b.Data) == 0 && b.URL != "" && (e.files || !media.Web(b.URL)):
		e.text("[an image at " + b.URL + "]")
	case len(b.Data) == 0 && b.URL != "":
		e.begin(`{"type":"image","source":{"type":"url","url":`)
		e.str(b.URL)
		e.key(`}`)
		e.end()
	case len(b.Data) > 0 && slices.Contains(imageKinds, kind):
		e.begin(`{"type":"image","source":{"type":"base64","media_type":`)
		e.str(kind)
		e.data(b.Data)
		e.end()
	default:
		e.text("[an image that cannot be shown]")
	}
}

// documentKind returns how the API can read a document: "pdf", "text", "url", "file" for an
// uploaded file, "container" for an uploaded file that only code can read, or "" if the API
// cannot read it (build-with-claude/pdf-support, build-with-claude/files).
func documentKind(b *event.Document) string {
	switch kind := b.MIME; {
	case b.Text != "":
		return "text"
	case len(b.Data) > 0 && kind == "application/pdf":
		return "pdf"
	case len(b.Data) > 0 && (strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/xml"):
		return "text"
	case len(b.Data) == 0 && fileID(b.URL) != "" && (kind == "" || kind == "application/pdf" || kind == "text/plain"):
		return "file"
	case len(b.Data) == 0 && fileID(b.URL) != "":
		return "container"
	case len(b.Data) == 0 && b.URL != "" && (kind == "" || kind == "application/pdf"):
		return "url"
	default:
		return ""
	}
}

func (e *encoder) document(b *event.Document) {
	b = media.Document(b)
	switch documentKind(b) {
	case "text":
		text := b.Text
		if text == "" {
			text = strings.ToValidUTF8(string(b.Data), "\uFFFD")
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		e.begin(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":`)
		e.str(text)
		e.key(`}`)
	case "pdf":
		e.begin(`{"type":"document","source":{"type":"base64","media_type":"application/pdf"`)
		e.data(b.Data)
	case "file", "container":
		if e.files {
			e.text("[a document at " + b.URL + "]")
			return
		}
		if documentKind(b) == "container" {
			e.begin(`{"type":"container_upload","file_id":`)
			e.str(fileID(b.URL))
			e.end()
			return
		}
		e.begin(`{"type":"document","source":{"type":"file","file_id":`)
		e.str(fileID(b.URL))
		e.key(`}`)
	case "url":
		if e.files || !media.Web(b.URL) {
			e.text("[a document at " + b.URL + "]")
			return
		}
		e.begin(`{"type":"document","source":{"type":"url","url":`)
		e.str(b.URL)
		e.key(`}`)
	default:
		e.text(strings.TrimSpace("[a document that cannot be shown " + b.Name + "]"))
		return
	}
	if b.Name != "" {
		e.key(`,"title":`)
		e.str(b.Name)
	}
	e.end()
}

// call writes a tool call. The API requires an object as arguments. Other and malformed
// arguments are wrapped in an object.
func (e *encoder) call(b *event.ToolCall) {
	e.begin(`{"type":"tool_use","id":`)
	e.str(e.ids.Give(b.ID, callIDs))
	e.key(`,"name":`)
	e.str(toolNames.Wire(b.Name))
	e.key(`,"input":`)
	at := len(e.dst)
	if args := bytes.TrimSpace(b.Args); len(args) > 0 && args[0] == '{' {
		if dst, err := strictjson.AppendCompact(e.dst, args, strictjson.DefaultDepth); err == nil {
			e.dst = dst
			e.end()
			return
		}
	} else if len(args) > 0 && b.Fault == "" {
		if dst, err := strictjson.AppendCompact(append(e.dst, `{"value":`...), args, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, '}')
			e.end()
			return
		}
	}
	e.dst = append(e.dst[:at], '{')
	if b.Invalid != "" {
		e.key(`"unreadable":`)
		e.str(b.Invalid)
	}
	e.key(`}`)
	e.end()
}

// result writes a tool result under the wire id of its call.
func (e *encoder) result(b *event.ToolResult) {
	e.begin(`{"type":"tool_result","tool_use_id":`)
	e.str(e.ids.Of(b.Call))
	if b.IsError {
		e.key(`,"is_error":true`)
	}
	mark := len(e.dst)
	e.key(`,"content":[`)
	outer := e.blocks
	e.blocks = 0
	for _, c := range b.Content {
		if _, text := c.(*event.Text); b.IsError && !text {
			// A failed result may hold text only. Other blocks follow after all results.
			e.aside = append(e.aside, c)
			continue
		}
		e.content(c)
	}
	if len(b.Content) == 0 && len(b.Structured) > 0 {
		e.text(string(b.Structured))
	}
	if e.blocks == 0 {
		e.dst = e.dst[:mark]
	} else {
		e.dst = append(e.dst[:len(e.dst)-1], ']')
	}
	e.blocks = outer
	e.end()
}

// begin writes the beginning of a block; end writes its end and a comma.
func (e *encoder) begin(s string) {
	e.dst = append(e.dst, s...)
	e.blocks++
}

func (e *encoder) end()         { e.dst = append(e.dst, '}', ',') }
func (e *encoder) key(s string) { e.dst = append(e.dst, s...) }
func (e *encoder) str(s string) { e.dst = strictjson.AppendString(e.dst, s) }

// data writes a source's data in base64 and closes the source.
func (e *encoder) data(b []byte) {
	e.dst = append(e.dst, `,"data":"`...)
	e.dst = base64.StdEncoding.AppendEncode(e.dst, b)
	e.dst = append(e.dst, `"}`...)
}

// unsupported returns an error if the newest user message contains content that the API cannot
// read. Older content was already answered; the encoder describes it in text.
func (m *Model) unsupported(req *model.Request) error {
	messages := req.Messages
	if len(messages) == 0 || messages[len(messages)-1].Role != event.RoleUser {
		return nil
	}
	for _, b := range messages[len(messages)-1].Content {
		var err error
		switch b := b.(type) {
		case *event.Image:
			err = m.noImage(media.Image(b))
		case *event.Document:
			err = m.noDocument(media.Document(b), req)
		case *event.Media:
			return notSent(event.ErrUnsupported, "Claude does not take %s", "send text, images, PDF or a transcript", b.Media)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noImage returns an error if an image cannot be sent; nil if it can.
func (m *Model) noImage(b *event.Image) error {
	if len(b.Data) > 0 {
		if !slices.Contains(imageKinds, b.MIME) {
			return notSent(event.ErrUnsupported, "Claude does not read images of the kind %q", "send JPEG, PNG, GIF or WebP", b.MIME)
		}
		if most := m.largestImage(); len(b.Data) > most {
			return notSent(event.ErrTooLarge, "an image of %.1f MB is too large: the model takes %.1f MB", "make it smaller, or send it as JPEG",
				float64(len(b.Data))/1e6, float64(most)/1e6)
		}
		return nil
	}
	if b.URL == "" {
		return notSent(event.ErrInvalid, "there is an image without data", "give its bytes or its address")
	}
	return m.noAddress(b.URL, "image")
}

// noDocument returns an error if a document cannot be sent; nil if it can.
func (m *Model) noDocument(b *event.Document, req *model.Request) error {
	kind := documentKind(b)
	if len(b.Data) == 0 && b.Text == "" && b.URL != "" && (kind != "" || isFile(b.URL)) {
		if err := m.noAddress(b.URL, "document"); err != nil {
			return err
		}
	}
	switch {
	case kind == "" && office(b.MIME):
		return notSent(event.ErrUnsupported, "Claude does not read documents of the kind %q",
			"convert it to PDF or text, or upload it (model.Files) and let the model read it with the server-side tool code_execution", b.MIME)
	case kind == "":
		return notSent(event.ErrUnsupported, "Claude does not read documents of the kind %q", "send PDF or text", b.MIME)
	case kind == "container" && !slices.ContainsFunc(req.Options.ServerTools, runsCode):
		return notSent(event.ErrUnsupported, "Claude reads an uploaded file of the kind %q with code only",
			"add the server-side tool code_execution, or send PDF or text", b.MIME)
	}
	return nil
}

// noAddress returns an error if an image or document cannot be sent by URL; nil if it can.
func (m *Model) noAddress(address, what string) error {
	switch {
	case fileID(address) != "" && m.onCloud():
		return notSent(event.ErrUnsupported, "%s keeps no files for Claude", "give the "+what+"'s bytes", m.title())
	case fileID(address) != "":
		return nil
	case isFile(address):
		return foreignFile(address)
	case m.onCloud():
		return notSent(event.ErrUnsupported, "%s does not fetch "+what+"s from an address", "give the "+what+"'s bytes", m.title())
	case !media.Web(address):
		return notSent(event.ErrUnsupported, "Claude fetches "+what+"s from the web only", "give the "+what+"'s bytes")
	}
	return nil
}

// ours reports whether Anthropic produced a signature or redacted thinking. Its signatures are
// base64 on every platform. Signatures of other providers begin with a mark that ends with a
// dot; their thinking is left out.
func ours(signature string) bool { return signature != "" && !strings.Contains(signature, ".") }

// largestImage returns the size limit of an image in bytes. The vendor's limit counts base64:
// 10 MiB, or 5 MiB on Bedrock and Vertex AI (build-with-claude/vision).
func (m *Model) largestImage() int {
	most := 10 << 20
	if m.onCloud() {
		most = 5 << 20
	}
	return most / 4 * 3
}
