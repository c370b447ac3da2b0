package event

import "github.com/braidrun/braid/internal/strictjson"

// How each block is written and read, side by side.

// block writes one block. A nil pointer in b's place is as bad as none.
func (w *encoder) block(b Block) {
	switch b := b.(type) {
	case *Text:
		w.text(b)
	case *Thinking:
		w.thinking(b)
	case *RedactedThinking:
		w.redactedThinking(b)
	case *Image:
		w.image(b)
	case *Document:
		w.document(b)
	case *Media:
		w.media(b)
	case *ToolCall:
		w.toolCall(b)
	case *ToolResult:
		w.toolResult(b)
	case *Citation:
		w.citation(b)
	case *Code:
		w.code(b)
	case *CodeResult:
		w.codeResult(b)
	case *UnknownBlock:
		w.unknownBlock(b)
	default:
		w.fail(noBlock)
	}
}

// block reads a block; nil after an error.
func (r *decoder) block() Block {
	m := r.Mark()
	o := r.Object()
	var kind []byte
	inOrder := true // as Braid writes it, the kind first
	for o.Next() {
		if string(o.Key) == "kind" {
			kind = r.Bytes()
			break
		}
		inOrder = false
		r.Skip()
	}
	if r.Err() == nil && len(kind) == 0 {
		r.Fail(m, strictjson.BadValue, "the block has no kind")
	}
	if r.Err() != nil {
		return nil
	}
	if !inOrder {
		r.Return(m)
		o = r.Object()
	}
	if b := r.blockOf(kind, &o); b != nil {
		return b
	}
	r.Return(m)
	return &UnknownBlock{Name: BlockKind(kind), Raw: r.Verbatim(maxRaw)}
}

// blockOf reads the fields of a block; nil, with nothing read, for an unknown kind.
func (r *decoder) blockOf(kind []byte, o *strictjson.Object) Block {
	switch BlockKind(kind) {
	case BlockText:
		return r.text(o)
	case BlockThinking:
		return r.thinking(o)
	case BlockRedactedThinking:
		return r.redactedThinking(o)
	case BlockImage:
		return r.image(o)
	case BlockDocument:
		return r.document(o)
	case BlockMedia:
		return r.media(o)
	case BlockToolCall:
		return r.toolCall(o)
	case BlockToolResult:
		return r.toolResult(o)
	case BlockCitation:
		return r.citation(o)
	case BlockCode:
		return r.code(o)
	case BlockCodeResult:
		return r.codeResult(o)
	default:
		return nil
	}
}

// field goes to the next field of a block, past its kind.
func (r *decoder) field(o *strictjson.Object) bool {
	for o.Next() {
		if string(o.Key) != "kind" {
			return true
		}
		r.Skip()
	}
	return false
}

const noBlock = "there is a nil block"

// openBlock begins a block, if there is one.
func (w *encoder) openBlock(is bool, kind BlockKind) bool {
	if !is {
		w.fail(noBlock)
		return false
	}
	w.buf = append(w.buf, `{"kind":"`...)
	w.buf = append(w.buf, kind...)
	w.buf = append(w.buf, '"', ',')
	return true
}

func (w *encoder) text(b *Text) {
	if !w.openBlock(b != nil, BlockText) {
		return
	}
	w.str(`"text":`, b.Text)
	w.strOpt(`"signature":`, b.Signature)
	w.end()
}

func (r *decoder) text(o *strictjson.Object) *Text {
	b := new(Text)
	for r.field(o) {
		switch string(o.Key) {
		case "text":
			b.Text = r.String()
		case "signature":
			b.Signature = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) thinking(b *Thinking) {
	if !w.openBlock(b != nil, BlockThinking) {
		return
	}
	w.str(`"text":`, b.Text)
	w.strOpt(`"signature":`, b.Signature)
	w.strOpt(`"prefix":`, b.Prefix)
	w.end()
}

func (r *decoder) thinking(o *strictjson.Object) *Thinking {
	b := new(Thinking)
	for r.field(o) {
		switch string(o.Key) {
		case "text":
			b.Text = r.String()
		case "signature":
			b.Signature = r.String()
		case "prefix":
			b.Prefix = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) redactedThinking(b *RedactedThinking) {
	if !w.openBlock(b != nil, BlockRedactedThinking) {
		return
	}
	w.str(`"data":`, b.Data)
	w.strOpt(`"prefix":`, b.Prefix)
	w.end()
}

func (r *decoder) redactedThinking(o *strictjson.Object) *RedactedThinking {
	b := new(RedactedThinking)
	for r.field(o) {
		switch string(o.Key) {
		case "data":
			b.Data = r.String()
		case "prefix":
			b.Prefix = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) image(b *Image) {
	if !w.openBlock(b != nil, BlockImage) {
		return
	}
	w.strOpt(`"mime":`, b.MIME)
	w.bytesOpt(`"data":`, b.Data)
	w.strOpt(`"url":`, b.URL)
	w.end()
}

func (r *decoder) image(o *strictjson.Object) *Image {
	b := new(Image)
	for r.field(o) {
		switch string(o.Key) {
		case "mime":
			b.MIME = r.String()
		case "data":
			b.Data = r.Base64()
		case "url":
			b.URL = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) document(b *Document) {
	if !w.openBlock(b != nil, BlockDocument) {
		return
	}
	w.strOpt(`"name":`, b.Name)
	w.strOpt(`"mime":`, b.MIME)
	w.bytesOpt(`"data":`, b.Data)
	w.strOpt(`"url":`, b.URL)
	w.strOpt(`"text":`, b.Text)
	w.end()
}

func (r *decoder) document(o *strictjson.Object) *Document {
	b := new(Document)
	for r.field(o) {
		switch string(o.Key) {
		case "name":
			b.Name = r.String()
		case "mime":
			b.MIME = r.String()
		case "data":
			b.Data = r.Base64()
		case "url":
			b.URL = r.String()
		case "text":
			b.Text = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) media(b *Media) {
	if !w.openBlock(b != nil, BlockMedia) {
		return
	}
	w.str(`"media":`, b.Media)
	w.strOpt(`"mime":`, b.MIME)
	w.str(`"url":`, b.URL)
	w.end()
}

func (r *decoder) media(o *strictjson.Object) *Media {
	b := new(Media)
	for r.field(o) {
		switch string(o.Key) {
		case "media":
			b.Media = r.String()
		case "mime":
			b.MIME = r.String()
		case "url":
			b.URL = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) toolCall(b *ToolCall) {
	if !w.openBlock(b != nil, BlockToolCall) {
		return
	}
	w.str(`"id":`, b.ID)
	w.str(`"name":`, b.Name)
	w.rawOpt(`"args":`, b.Args)
	w.strOpt(`"invalid":`, b.Invalid)
	w.strOpt(`"fault":`, b.Fault)
	w.strOpt(`"signature":`, b.Signature)
	w.end()
}

func (r *decoder) toolCall(o *strictjson.Object) *ToolCall {
	b := new(ToolCall)
	for r.field(o) {
		switch string(o.Key) {
		case "id":
			b.ID = r.String()
		case "name":
			b.Name = r.String()
		case "args":
			b.Args = r.raw()
		case "invalid":
			b.Invalid = r.String()
		case "fault":
			b.Fault = r.String()
		case "signature":
			b.Signature = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) toolResult(b *ToolResult) {
	if !w.openBlock(b != nil, BlockToolResult) {
		return
	}
	if w.nested++; w.nested > maxNested {
		w.fail("tool results are nested too deep")
		return
	}
	w.str(`"call":`, b.Call)
	w.strOpt(`"name":`, b.Name)
	w.blocksOpt(`"content":`, b.Content)
	w.rawOpt(`"structured":`, b.Structured)
	w.boolOpt(`"is_error":`, b.IsError)
	w.end()
	w.nested--
}

func (r *decoder) toolResult(o *strictjson.Object) *ToolResult {
	b := new(ToolResult)
	if r.nested++; r.nested > maxNested {
		r.Fail(r.Mark(), strictjson.TooDeep, "tool results are nested too deep")
	}
	for r.field(o) {
		switch string(o.Key) {
		case "call":
			b.Call = r.String()
		case "name":
			b.Name = r.String()
		case "content":
			b.Content = r.blocks()
		case "structured":
			b.Structured = r.raw()
		case "is_error":
			b.IsError = r.Bool()
		default:
			o.Unknown()
		}
	}
	r.nested--
	return b
}

func (w *encoder) citation(b *Citation) {
	if !w.openBlock(b != nil, BlockCitation) {
		return
	}
	w.strOpt(`"title":`, b.Title)
	w.strOpt(`"url":`, b.URL)
	w.strOpt(`"quote":`, b.Quote)
	w.intOpt(`"start":`, int64(b.Start))
	w.intOpt(`"end":`, int64(b.End))
	w.end()
}

func (r *decoder) citation(o *strictjson.Object) *Citation {
	b := new(Citation)
	for r.field(o) {
		switch string(o.Key) {
		case "title":
			b.Title = r.String()
		case "url":
			b.URL = r.String()
		case "quote":
			b.Quote = r.String()
		case "start":
			b.Start = r.Int()
		case "end":
			b.End = r.Int()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) code(b *Code) {
	if !w.openBlock(b != nil, BlockCode) {
		return
	}
	w.strOpt(`"language":`, b.Language)
	w.str(`"code":`, b.Code)
	w.strOpt(`"id":`, b.ID)
	w.strOpt(`"signature":`, b.Signature)
	w.end()
}

func (r *decoder) code(o *strictjson.Object) *Code {
	b := new(Code)
	for r.field(o) {
		switch string(o.Key) {
		case "language":
			b.Language = r.String()
		case "code":
			b.Code = r.String()
		case "id":
			b.ID = r.String()
		case "signature":
			b.Signature = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) codeResult(b *CodeResult) {
	if !w.openBlock(b != nil, BlockCodeResult) {
		return
	}
	w.strOpt(`"outcome":`, b.Outcome)
	w.strOpt(`"output":`, b.Output)
	w.strOpt(`"id":`, b.ID)
	w.strOpt(`"signature":`, b.Signature)
	w.end()
}

func (r *decoder) codeResult(o *strictjson.Object) *CodeResult {
	b := new(CodeResult)
	for r.field(o) {
		switch string(o.Key) {
		case "outcome":
			b.Outcome = r.String()
		case "output":
			b.Output = r.String()
		case "id":
			b.ID = r.String()
		case "signature":
			b.Signature = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) unknownBlock(u *UnknownBlock) {
	if u == nil {
		w.fail(noBlock)
		return
	}
	if u.Name == "" || knownBlock(u.Name) {
		w.fail("an unknown block must have a name, and not that of a known kind")
		return
	}
	// Raw is the whole block: its kind must be the name, or it would come
	// back as something else.
	var r strictjson.Reader
	r.Reset(u.Raw, maxRaw)
	named := false
	for o := r.Object(); o.Next(); {
		if string(o.Key) == "kind" {
			named = r.String() == string(u.Name)
			continue
		}
		r.Skip()
	}
	if err := r.End(); err != nil {
		w.failRaw(`"block"`, err)
		return
	}
	if !named {
		w.fail("an unknown block's raw JSON does not bear its name")
		return
	}
	w.buf = append(append(w.buf, u.Raw...), ',')
}
