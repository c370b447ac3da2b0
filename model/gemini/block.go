package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/toolname"
)

// encoder encodes messages for the API. It never fails: it converts content that the API
// refuses, so that a conversation begun with another provider can continue here. [unsupported]
// checks the newest input before encoding.
type encoder struct {
	head reqcache.Head[[]byte]

	// sees is set for models that see images in results, signs for models that refuse calls
	// without a signature.
	sees, signs bool
	// apart leaves out calls and results of server-side tools. The API takes them only in
	// requests with server-side tools and the agent's tools.
	apart bool
	ids   callIDs

	dst []byte
	// parts counts the parts written for the current message. signed is set once a call of it
	// was written. aside holds blocks of results that their parts cannot hold.
	parts  int
	signed bool
	aside  []event.Block
}

// callIDs maps the ids and names of calls. A result repeats both.
type callIDs struct {
	toolname.IDs

	// names maps the ids of the last answer's calls to the tools' names on the wire.
	names map[string]string
	// bare is set for Vertex AI, which has no ids. Results follow the order of their calls.
	bare bool
}

// Mark implements [reqcache.Encoder].
func (e *encoder) Mark() reqcache.Mark {
	return reqcache.Mark{End: len(e.dst), IDs: e.ids.Len(), Blocks: e.parts}
}

// Cut implements [reqcache.Encoder].
func (e *encoder) Cut(to reqcache.Mark) {
	e.dst = e.dst[:to.End]
	e.ids.Cut(to.IDs)
}

// Size implements [reqcache.Encoder].
func (e *encoder) Size() int { return cap(e.dst) + cap(e.head.Made()) }

// Encode implements [reqcache.Encoder]: it writes a message and a comma.
func (e *encoder) Encode(m *event.Message) {
	e.parts, e.signed, e.aside = 0, false, e.aside[:0]
	if m.Role == event.RoleAssistant {
		e.raw(`{"role":"model","parts":[`)
		e.answer(m.Content)
	} else {
		e.raw(`{"role":"user","parts":[`)
		e.input(m.Content)
	}
	if e.parts == 0 {
		// The API refuses messages without parts and empty text.
		e.text("[nothing]")
	}
	e.dst = append(e.dst[:len(e.dst)-1], `]},`...)
}

// answer writes the content of an assistant message. Thoughts are summaries for users. The
// vendor does not want them back, unless it signed them.
func (e *encoder) answer(content []event.Block) {
	e.ids.Answer()
	clear(e.ids.names)
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			if s := mine(b.Signature); s != "" {
				e.begin(`{"text":`)
				e.str(b.Text)
				e.sign(s)
				e.end()
				continue
			}
			e.text(b.Text)
		case *event.Thinking:
			if s := mine(b.Signature); s != "" {
				e.begin(`{"thought":true,"text":`)
				e.str(b.Text)
				e.sign(s)
				e.end()
			}
		case *event.ToolCall:
			e.call(b)
		case *event.UnknownBlock:
			e.vendors(b)
		case *event.Document, *event.Media:
			// The API takes no such kinds in assistant messages.
			e.text("[" + string(b.BlockKind()) + "]")
		case *event.Code:
			e.code(b)
		case *event.CodeResult:
			e.codeResult(b)
		case *event.Image:
			e.content(b)
		default: // a citation repeats the text
		}
	}
}

// code writes a program. The vendor's own is sent back unchanged, another's as text.
func (e *encoder) code(b *event.Code) {
	if !strings.HasPrefix(b.Signature, own) || b.Code == "" {
		e.content(b)
		return
	}
	e.begin(`{"executableCode":{`)
	if b.ID != "" {
		e.raw(`"id":`)
		e.str(b.ID)
		e.raw(`,`)
	}
	e.raw(`"language":`)
	e.str(strings.ToUpper(b.Language))
	e.raw(`,"code":`)
	e.str(b.Code)
	e.raw(`}`)
	if s := mine(b.Signature); s != "" {
		e.sign(s)
	}
	e.end()
}

// codeResult writes the result of a program.
func (e *encoder) codeResult(b *event.CodeResult) {
	if !strings.HasPrefix(b.Signature, own) || b.Outcome == "" {
		e.text(strings.TrimSpace("[" + b.Outcome + "] " + b.Output))
		return
	}
	e.begin(`{"codeExecutionResult":{`)
	if b.ID != "" {
		e.raw(`"id":`)
		e.str(b.ID)
		e.raw(`,`)
	}
	e.raw(`"outcome":`)
	if theirs, ok := outcomes[b.Outcome]; ok {
		e.str(theirs)
	} else {
		e.str(b.Outcome)
	}
	if b.Output != "" {
		e.raw(`,"output":`)
		e.str(b.Output)
	}
	e.raw(`}`)
	if s := mine(b.Signature); s != "" {
		e.sign(s)
	}
	e.end()
}

// input writes the content of a user message. The API requires the results of an answer's calls
// directly after it, in number and order of the calls.
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

// content writes a block of a user message.
func (e *encoder) content(b event.Block) {
	switch b := b.(type) {
	case *event.Text:
		e.text(b.Text)
	case *event.Image:
		e.image(b)
	case *event.Document:
		e.document(b)
	case *event.Media:
		e.media(b)
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
	e.begin(`{"text":`)
	e.str(s)
	e.end()
}

// imageKinds are the image types that the API reads (docs/image-understanding).
var imageKinds = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

// fetched reports whether the API can fetch a URL: from the web, or from Google Cloud Storage.
func fetched(address string) bool {
	return media.Web(address) || media.Scheme(address) == "gs"
}

// imageTaken reports whether the API reads a normalized image. An image by URL may have no
// type; the API then detects it.
func imageTaken(b *event.Image) bool {
	if len(b.Data) == 0 {
		return fetched(b.URL) && (b.MIME == "" || slices.Contains(imageKinds, b.MIME))
	}
	return slices.Contains(imageKinds, b.MIME)
}

func (e *encoder) image(b *event.Image) {
	b = media.Image(b)
	switch {
	case !imageTaken(b):
		e.text("[an image that cannot be shown]")
	case len(b.Data) > 0:
		e.inline(b.MIME, b.Data)
	default:
		e.file(b.MIME, b.URL)
	}
}

// documentKind returns "pdf", "text" or "url" for a normalized document, or "" if the API
// cannot read it (docs/document-processing: it sees the pages of PDF, and the text of other
// types).
func documentKind(b *event.Document) string {
	text := strings.HasPrefix(b.MIME, "text/") || b.MIME == "application/json" || b.MIME == "application/xml" || b.MIME == "application/yaml"
	switch {
	case b.Text != "":
		return "text"
	case len(b.Data) > 0 && b.MIME == "application/pdf":
		return "pdf"
	case len(b.Data) > 0 && text:
		return "text"
	case len(b.Data) == 0 && fetched(b.URL) && (text || b.MIME == "" || b.MIME == "application/pdf"):
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
		if b.Name != "" && strings.TrimSpace(text) != "" {
			text = b.Name + ":\n\n" + text
		}
		e.text(text)
	case "pdf":
		e.inline(b.MIME, b.Data)
	case "url":
		e.file(b.MIME, b.URL)
	default:
		e.text("[" + strings.TrimSpace("a document that cannot be shown "+b.Name) + "]")
	}
}

// media writes audio or video: a URL, or the data of a data URL.
func (e *encoder) media(b *event.Media) {
	b = media.Media(b)
	_, data, ok := media.Data(b.URL)
	switch {
	case !mediaTaken(b):
		e.text(strings.TrimSpace("[" + b.Media + " that cannot be heard or seen]"))
	case ok:
		e.inline(b.MIME, data)
	default:
		e.file(b.MIME, b.URL)
	}
}

// mediaTaken reports whether the API takes normalized audio or video (docs/audio and
// docs/video-understanding).
func mediaTaken(b *event.Media) bool {
	known := strings.HasPrefix(b.MIME, "audio/") || strings.HasPrefix(b.MIME, "video/")
	if _, data, ok := media.Data(b.URL); ok {
		return known && len(data) > 0
	}
	return fetched(b.URL) && (known || b.MIME == "")
}

// placeholder is the value that the vendor accepts in place of a missing signature, because
// another model made the call (docs/thought-signatures, FAQ).
const placeholder = "skip_thought_signature_validator"

// call writes a tool call. The API requires an object as arguments. Other and malformed
// arguments are wrapped in an object. Models that require signatures get a placeholder for the
// first call of an answer if it has none.
func (e *encoder) call(b *event.ToolCall) {
	id, name := e.ids.Give(b.ID, toolname.IDRule{Max: 64, Visible: true}), toolNames.Wire(b.Name)
	if e.ids.names == nil {
		e.ids.names = make(map[string]string)
	}
	e.ids.names[b.ID] = name
	e.begin(`{"functionCall":{`)
	if !e.ids.bare {
		e.raw(`"id":`)
		e.str(id)
		e.raw(`,`)
	}
	e.raw(`"name":`)
	e.str(name)
	e.raw(`,"args":`)
	e.arguments(b)
	e.raw(`}`)
	if s := mine(b.Signature); s != "" {
		e.sign(s)
	} else if e.signs && !e.signed {
		e.sign(placeholder)
	}
	e.signed = true
	e.end()
}

func (e *encoder) arguments(b *event.ToolCall) {
	at := len(e.dst)
	if args := bytes.TrimSpace(b.Args); len(args) > 0 && args[0] == '{' {
		if dst, err := strictjson.AppendCompact(e.dst, args, strictjson.DefaultDepth); err == nil {
			e.dst = dst
			return
		}
	} else if len(args) > 0 && b.Fault == "" {
		if dst, err := strictjson.AppendCompact(append(e.dst, `{"value":`...), args, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, '}')
			return
		}
	}
	e.dst = append(e.dst[:at], '{')
	if b.Invalid != "" {
		e.raw(`"unreadable":`)
		e.str(b.Invalid)
	}
	e.raw(`}`)
}

// result writes a tool result: an object with the member output or error
// (api/caching#FunctionResponse). Content other than text becomes nested parts. Models before
// Gemini 3 do not see these, so for them it follows after the results.
func (e *encoder) result(b *event.ToolResult) {
	name, ok := e.ids.names[b.Call]
	if !ok {
		name = toolNames.Wire(b.Name) // the API decides whether it accepts the result
	}
	e.begin(`{"functionResponse":{`)
	if !e.ids.bare {
		e.raw(`"id":`)
		e.str(e.ids.Of(b.Call))
		e.raw(`,`)
	}
	e.raw(`"name":`)
	e.str(name)
	if b.IsError {
		e.raw(`,"response":{"error":`)
	} else {
		e.raw(`,"response":{"output":`)
	}
	e.outcome(b)
	e.raw(`}`)
	files := 0
	for _, c := range b.Content {
		if _, text := inWords(c); text {
			continue
		}
		kind, data := inResult(c)
		if !e.sees || data == nil {
			e.aside = append(e.aside, c)
			continue
		}
		if files++; files == 1 {
			e.raw(`,"parts":[`)
		}
		e.raw(`{"inlineData":{"mimeType":`)
		e.str(kind)
		e.data(data)
		e.raw(`}},`)
	}
	if files > 0 {
		e.dst[len(e.dst)-1] = ']'
	}
	e.raw(`}`)
	e.end()
}

// outcome writes the text of a result, or its JSON if it has no other content.
func (e *encoder) outcome(b *event.ToolResult) {
	if len(b.Content) == 0 && len(b.Structured) > 0 {
		if dst, err := strictjson.AppendCompact(e.dst, b.Structured, strictjson.DefaultDepth); err == nil {
			e.dst = dst
			return
		}
	}
	text := ""
	for _, c := range b.Content {
		if s, ok := inWords(c); ok && strings.TrimSpace(s) != "" {
			if text != "" {
				text += "\n"
			}
			text += s
		}
	}
	switch {
	case text != "":
	case len(b.Content) > 0 && !slices.ContainsFunc(b.Content, isText):
		text = "[shown apart]"
	default:
		text = "[nothing]"
	}
	e.str(text)
}

func isText(b event.Block) bool {
	_, ok := inWords(b)
	return ok
}

// inWords returns the text of a block in a result; ok is false for other kinds.
func inWords(b event.Block) (string, bool) {
	switch b := b.(type) {
	case *event.Text:
		return b.Text, true
	case *event.Code:
		return "```" + b.Language + "\n" + b.Code + "\n```", true
	case *event.CodeResult:
		return b.Output, true
	case *event.Citation:
		return strings.TrimSpace(b.Quote + " " + b.URL), true
	default:
		return "", false
	}
}

// inResult returns the data of a file that a result may hold (docs/function-calling, multimodal
// function responses).
func inResult(b event.Block) (kind string, data []byte) {
	switch b := b.(type) {
	case *event.Image:
		b = media.Image(b)
		switch b.MIME {
		case "image/png", "image/jpeg", "image/webp":
			return b.MIME, b.Data
		}
	case *event.Document:
		if b = media.Document(b); documentKind(b) == "pdf" {
			return b.MIME, b.Data
		}
	}
	return "", nil
}

// vendors writes a part of a vendor's kind unchanged.
func (e *encoder) vendors(b *event.UnknownBlock) {
	if !strings.HasPrefix(string(b.Name), own) || e.apart && (b.Name == own+"toolCall" || b.Name == own+"toolResponse") {
		return
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(b.Raw, &members) != nil {
		return
	}
	delete(members, "kind")
	raw, err := json.Marshal(members)
	if err != nil || len(members) == 0 {
		return
	}
	e.begin(string(raw[:len(raw)-1]))
	e.end()
}

// file writes a reference to a file. An unknown type is left out, so that the API detects it.
func (e *encoder) file(kind, address string) {
	e.begin(`{"fileData":{`)
	if kind != "" {
		e.raw(`"mimeType":`)
		e.str(kind)
		e.raw(`,`)
	}
	e.raw(`"fileUri":`)
	e.str(address)
	e.raw(`}`)
	e.end()
}

// inline writes a file's data.
func (e *encoder) inline(kind string, data []byte) {
	e.begin(`{"inlineData":{"mimeType":`)
	e.str(kind)
	e.data(data)
	e.raw(`}`)
	e.end()
}

// begin writes the beginning of a part; end writes its end and a comma.
func (e *encoder) begin(s string) {
	e.dst = append(e.dst, s...)
	e.parts++
}

func (e *encoder) end() { e.dst = append(e.dst, '}', ',') }

func (e *encoder) raw(s string) { e.dst = append(e.dst, s...) }

func (e *encoder) str(s string) { e.dst = strictjson.AppendString(e.dst, s) }

func (e *encoder) sign(s string) {
	e.raw(`,"thoughtSignature":`)
	e.str(s)
}

func (e *encoder) data(b []byte) {
	e.dst = append(e.dst, `,"data":"`...)
	e.dst = base64.StdEncoding.AppendEncode(e.dst, b)
	e.dst = append(e.dst, '"')
}

// unsupported returns an error if the newest user message contains content that the API cannot
// read. Older content was already answered; the encoder describes it in text.
func unsupported(messages []event.Message) error {
	if len(messages) == 0 || messages[len(messages)-1].Role != event.RoleUser {
		return nil
	}
	for _, b := range messages[len(messages)-1].Content {
		switch b := b.(type) {
		case *event.Image:
			switch n := media.Image(b); {
			case len(n.Data) == 0 && n.URL == "":
				return notSent(event.ErrInvalid, "there is an image without data", "give its bytes or its address")
			case len(n.Data) == 0 && !fetched(n.URL):
				return notSent(event.ErrUnsupported, "Gemini does not get images from such an address",
					"give the image's bytes, or an address of the web")
			case !imageTaken(n):
				return notSent(event.ErrUnsupported, "Gemini does not read images of the kind %q", "send PNG, JPEG, WebP, HEIC or HEIF", n.MIME)
			}
		case *event.Document:
			if n := media.Document(b); documentKind(n) == "" {
				return notSent(event.ErrUnsupported, "Gemini does not read documents of the kind %q", "send PDF or text", n.MIME)
			}
		case *event.Media:
			if !mediaTaken(media.Media(b)) {
				return notSent(event.ErrUnsupported, "Gemini cannot take this %s",
					"give sound or film, by an address of the web or as a data address", b.Media)
			}
		}
	}
	return nil
}
