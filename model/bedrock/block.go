package bedrock

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/encoded"
	"github.com/braidrun/braid/internal/mediatype"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/internal/wirename"
)

// encoder writes messages as the API takes them (API_runtime_ContentBlock). It
// never fails: what the API or the model does not take is turned into something
// that it does, by the rules that stand beside each kind, so that a history that
// was written under another provider goes on here. Whether the newest input can be
// sent is asked before, of [Model.unsupported].
type encoder struct {
	family *family
	dst    []byte
	ids    wirename.IDs
	// said tells of each message what the cache and the guardrail must know.
	said []said
	// names are those of the documents so far, and where each was given.
	names []docName
	// head is what stands in front of the messages.
	head encoded.Head[head]

	// Of the message that is being written: blocks and texts count what was
	// written, aside holds the files of results that cannot stand in them, last is
	// the kind of the last block.
	blocks, texts, files int
	aside                []event.Block
	last                 lastBlock
	spans                []span
	inResult             bool
}

type said struct {
	end int
	// cacheable says that a cache point may stand at its end.
	cacheable bool
	// asks says that a person speaks in it, spans where their texts stand.
	asks  bool
	spans []span
}

type span struct{ from, to int }

type docName struct {
	name string
	end  int
}

type lastBlock uint8

const (
	plainBlock lastBlock = iota
	resultBlock
	looseDocument // not a PDF
)

// Encode writes a message and a comma.
func (e *encoder) Encode(m *event.Message) {
	e.blocks, e.texts, e.files, e.last, e.aside, e.spans = 0, 0, 0, plainBlock, e.aside[:0], nil
	s := said{asks: false}
	if m.Role == event.RoleAssistant {
		e.ids.Answer()
		e.open("assistant")
		e.answer(m.Content)
		e.shut()
	} else {
		results := e.input(m.Content)
		e.shut()
		s.asks, s.spans = e.texts > 0, e.spans
		switch e.family.cache {
		case wholeCache:
			s.cacheable = e.last != looseDocument
		case textCache:
			s.cacheable = !results && e.files == 0
		default:
		}
	}
	s.end = len(e.dst)
	e.said = append(e.said, s)
}

// Mark implements [encoded.Encoder].
func (e *encoder) Mark() encoded.Mark {
	return encoded.Mark{End: len(e.dst), IDs: e.ids.Len(), Blocks: e.blocks}
}

// Cut implements [encoded.Encoder].
func (e *encoder) Cut(to encoded.Mark) {
	e.dst = e.dst[:to.End]
	e.ids.Cut(to.IDs)
	for len(e.said) > 0 && e.said[len(e.said)-1].end > to.End {
		e.said = e.said[:len(e.said)-1]
	}
	for len(e.names) > 0 && e.names[len(e.names)-1].end >= to.End {
		e.names = e.names[:len(e.names)-1]
	}
}

// Size implements [encoded.Encoder].
func (e *encoder) Size() int {
	h := e.head.Made()
	return cap(e.dst) + cap(h.tools) + cap(h.system) + 48*cap(e.said)
}

const (
	userOpen = `{"role":"user","content":[`
	shut     = `]},`
)

func (e *encoder) open(role string) {
	e.key(`{"role":"` + role + `","content":[`)
	e.blocks = 0
}

// shut ends a message. The API takes none without content, and no blank text.
func (e *encoder) shut() {
	if e.blocks == 0 {
		e.text("[nothing]")
	}
	e.dst = append(e.dst[:len(e.dst)-1], shut...)
}

// answer writes what the model said.
func (e *encoder) answer(content []event.Block) {
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			e.text(b.Text)
		case *event.Thinking:
			e.thinking(b)
		case *event.RedactedThinking:
			if data, mine := e.mine(b.Data); mine {
				e.begin(`{"reasoningContent":{"redactedContent":`)
				e.str(data)
				e.key(`}},`)
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
			// Hardly a model takes them from its own side.
			e.text("[" + string(b.BlockKind()) + "]")
		default: // a citation repeats what the text says
		}
	}
}

// thinking writes thinking that bears the signature of a model of this family.
// Without one it is not the model's any more, and is refused.
func (e *encoder) thinking(b *event.Thinking) {
	signature, mine := e.mine(b.Signature)
	if !mine {
		return
	}
	e.begin(`{"reasoningContent":{"reasoningText":{"text":`)
	e.str(b.Text)
	e.key(`,"signature":`)
	e.str(signature)
	e.key(`}}},`)
}

// mine takes the mark off what only its maker reads. Claude's bears none, and has
// no dot in it, as every other provider's mark.
func (e *encoder) mine(opaque string) (string, bool) {
	if e.family.claude {
		return opaque, opaque != "" && !strings.Contains(opaque, ".")
	}
	data, ok := strings.CutPrefix(opaque, own)
	return data, ok && data != "" && !e.family.nova
}

// input writes what came from people and tools, results first. Where a model wants
// them in turns of their own, it is given a word in between.
func (e *encoder) input(content []event.Block) (results bool) {
	e.open("user")
	for _, b := range content {
		if r, ok := b.(*event.ToolResult); ok {
			e.result(r)
			results = true
		}
	}
	at, blocks := len(e.dst), e.blocks
	apart := e.family.split && results && !e.family.noTools
	if apart {
		e.shut()
		e.key(`{"role":"assistant","content":[{"text":"I have the results."}]},`)
		e.open("user")
	}
	from := len(e.dst)
	for _, b := range e.aside {
		e.content(b)
	}
	for _, b := range content {
		if _, ok := b.(*event.ToolResult); !ok {
			e.content(b)
		}
	}
	if e.files > 0 && e.texts == 0 {
		// The API wants a text beside documents.
		e.text("The files are attached.")
	}
	if apart && len(e.dst) == from {
		// Nobody says anything: it is one turn.
		e.dst = e.dst[:at]
		e.dst[at-1] = ','
		e.blocks, e.last = blocks, resultBlock
	}
	return results
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
		e.media(b)
	case *event.Code:
		e.text("```" + b.Language + "\n" + b.Code + "\n```")
	case *event.CodeResult:
		e.text(b.Output)
	case *event.Citation:
		e.text(strings.TrimSpace(b.Quote + " " + b.URL))
	default: // thinking and calls are the model's; nobody else knows the rest
	}
}

// text writes a text, unless it is blank, which the API refuses.
func (e *encoder) text(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	from := len(e.dst)
	e.begin(`{"text":`)
	e.str(s)
	e.key(`},`)
	e.texts++
	if !e.inResult {
		e.spans = append(e.spans, span{from, len(e.dst) - 1})
	}
}

// imageFormat is an image's format; "" is one that the API does not read
// (API_runtime_ImageBlock).
func imageFormat(b *event.Image) string {
	switch b.MIME {
	case "image/png", "image/gif", "image/webp", "image/jpeg":
		return b.MIME[len("image/"):]
	default:
		return ""
	}
}

// stored reports whether a file lies in S3, where the API may read it.
func stored(address string) bool { return mediatype.Scheme(address) == "s3" }

func (e *encoder) image(b *event.Image) {
	b = mediatype.Image(b)
	format := imageFormat(b)
	if e.family.noImages || format == "" || !e.held(b.Data, b.URL) {
		e.text("[an image that cannot be shown]")
		return
	}
	e.begin(`{"image":{"format":"` + format + `"`)
	e.source(b.Data, b.URL)
	e.key(`}},`)
	e.files++
}

// held reports whether the API can have a file.
func (e *encoder) held(data []byte, address string) bool {
	return len(data) > 0 || e.family.stored && stored(address)
}

func (e *encoder) source(data []byte, address string) {
	if len(data) == 0 {
		e.key(`,"source":{"s3Location":{"uri":`)
		e.str(address)
		e.key(`}}`)
		return
	}
	e.key(`,"source":{"bytes":"`)
	e.dst = base64.StdEncoding.AppendEncode(e.dst, data)
	e.key(`"}`)
}

var documentFormats = map[string]string{
	"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "application/xhtml+xml": "html", "text/markdown": "md",
	"application/msword": "doc", "application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
	"application/json": "txt", "application/xml": "txt", "application/yaml": "txt",
}

// documentFormat is a document's format; "" is one that the API does not read
// (API_runtime_DocumentBlock).
func documentFormat(b *event.Document) string {
	if f, ok := documentFormats[b.MIME]; ok {
		return f
	}
	if b.Text != "" || strings.HasPrefix(b.MIME, "text/") {
		return "txt"
	}
	return ""
}

func (e *encoder) document(b *event.Document) {
	b = mediatype.Document(b)
	format := documentFormat(b)
	data := b.Data
	if b.Text != "" {
		data = []byte(b.Text)
	}
	if format == "" || !e.held(data, b.URL) {
		e.text(strings.TrimSpace("[a document that cannot be shown " + b.Name + "]"))
		return
	}
	if format == "txt" || format == "md" || format == "csv" {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if e.family.noDocuments {
		if format == "txt" || format == "md" || format == "csv" {
			e.text(string(data))
			return
		}
		e.text(strings.TrimSpace("[a document that cannot be shown " + b.Name + "]"))
		return
	}
	e.begin(`{"document":{"format":"` + format + `","name":`)
	e.str(e.documentName(b.Name))
	e.source(data, b.URL)
	e.key(`}},`)
	e.files++
	if format != "pdf" {
		e.last = looseDocument
	}
}

// documentName is a document's name as the API takes it: letters, digits, single
// blanks, hyphens, parentheses and brackets, 200 at most, and no two alike in a
// conversation. It has no ending, because a dot is not allowed.
func (e *encoder) documentName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSuffix(name, path.Ext(name))
	var s strings.Builder
	blank := false
	for _, r := range name {
		ok := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-()[]", r))
		if !ok {
			blank = s.Len() > 0
			continue
		}
		const most = 180
		if s.Len() >= most {
			break
		}
		if blank {
			s.WriteByte(' ')
		}
		blank = false
		s.WriteRune(r)
	}
	base := s.String()
	if base == "" {
		base = "document"
	}
	free := base
	for n := 2; slices.ContainsFunc(e.names, func(d docName) bool { return d.name == free }); n++ {
		free = base + " (" + strconv.Itoa(n) + ")"
	}
	e.names = append(e.names, docName{free, len(e.dst)})
	return free
}

var videoFormats = []string{"mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"}

// videoFormat is a film's format; "" is one that the API does not read
// (API_runtime_VideoBlock).
func videoFormat(b *event.Media) string {
	format := strings.TrimPrefix(b.MIME, "video/")
	switch format {
	case "quicktime":
		format = "mov"
	case "3gp", "3gpp", "3gpp2", "3g2":
		format = "three_gp"
	case "x-matroska":
		format = "mkv"
	case "x-ms-wmv":
		format = "wmv"
	case "x-flv":
		format = "flv"
	}
	if b.Media != "video" || !slices.Contains(videoFormats, format) {
		return ""
	}
	return format
}

func (e *encoder) media(b *event.Media) {
	b = mediatype.Media(b)
	format := videoFormat(b)
	if !e.family.video || format == "" || !stored(b.URL) {
		e.text(strings.TrimSpace("[" + b.Media + " " + b.URL + "]"))
		return
	}
	e.begin(`{"video":{"format":"` + format + `"`)
	e.source(nil, b.URL)
	e.key(`}},`)
	e.files++
}

// The ids of calls: API_runtime_ToolUseBlock.
var callIDs = wirename.IDRule{Max: 64}

// call writes a tool call. Its arguments must be an object: others, and those
// that nobody could read, are put into one.
func (e *encoder) call(b *event.ToolCall) {
	if e.family.noTools {
		e.text("[call of " + b.Name + "] " + string(b.Args))
		return
	}
	e.begin(`{"toolUse":{"toolUseId":`)
	e.str(e.ids.Give(b.ID, callIDs))
	e.key(`,"name":`)
	e.str(e.family.names.Wire(b.Name))
	e.key(`,"input":`)
	at := len(e.dst)
	if args := bytes.TrimSpace(b.Args); len(args) > 0 && args[0] == '{' {
		if dst, err := strictjson.AppendCompact(e.dst, args, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, `}},`...)
			return
		}
	} else if len(args) > 0 && b.Fault == "" {
		if dst, err := strictjson.AppendCompact(append(e.dst, `{"value":`...), args, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, `}}},`...)
			return
		}
	}
	e.dst = append(e.dst[:at], '{')
	if b.Invalid != "" {
		e.key(`"unreadable":`)
		e.str(b.Invalid)
	}
	e.key(`}}},`)
}

// result writes a tool's result under the id that its call has.
func (e *encoder) result(b *event.ToolResult) {
	if e.family.noTools {
		e.text("[result of " + b.Name + "] " + event.TextOf(b.Content) + string(b.Structured))
		return
	}
	e.begin(`{"toolResult":{"toolUseId":`)
	e.str(e.ids.Of(b.Call))
	e.key(`,"content":[`)
	outer, texts, files := e.blocks, e.texts, e.files
	e.blocks, e.inResult = 0, true
	for _, c := range b.Content {
		switch c.(type) {
		case *event.Image, *event.Document, *event.Media:
			if b.IsError || !e.family.resultFiles {
				// It follows behind the results.
				e.aside = append(e.aside, c)
				continue
			}
		}
		e.content(c)
	}
	if len(b.Content) == 0 && len(b.Structured) > 0 {
		e.structured(b.Structured)
	}
	if e.blocks == 0 {
		e.text("[nothing]")
	}
	e.dst = append(e.dst[:len(e.dst)-1], ']')
	e.blocks, e.texts, e.files, e.inResult = outer, texts, files, false
	if b.IsError && e.family.status {
		e.key(`,"status":"error"`)
	}
	e.key(`}},`)
	e.last = resultBlock
}

// structured writes a result for programs. The API takes objects as JSON.
func (e *encoder) structured(raw json.RawMessage) {
	if in := bytes.TrimSpace(raw); !e.family.textResults && len(in) > 0 && in[0] == '{' {
		if dst, err := strictjson.AppendCompact(append(e.dst, `{"json":`...), in, strictjson.DefaultDepth); err == nil {
			e.dst = append(dst, `},`...)
			e.blocks++
			return
		}
	}
	e.text(string(raw))
}

// vendors writes a block of the vendor's own back as it came.
func (e *encoder) vendors(b *event.UnknownBlock) {
	if !strings.HasPrefix(string(b.Name), own) {
		return
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(b.Raw, &members) != nil {
		return
	}
	delete(members, "kind")
	raw, err := json.Marshal(members)
	if err != nil || len(members) != 1 {
		return
	}
	e.begin(string(raw))
	e.key(`,`)
}

// begin writes the beginning of a block.
func (e *encoder) begin(s string) {
	e.dst = append(e.dst, s...)
	e.blocks++
	e.last = plainBlock
}

func (e *encoder) key(s string) { e.dst = append(e.dst, s...) }
func (e *encoder) str(s string) { e.dst = strictjson.AppendString(e.dst, s) }
