package bedrock

import (
	"encoding/base64"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// Citations are separate blocks with indexes above all others.
const firstCitation = 1 << 28

// block returns the open block with this number, and closes a block of another kind.
func (d *decoder) block(wire int, kind blockKind) *openBlock {
	for i := range d.open {
		b := &d.open[i]
		if b.wire != wire {
			continue
		}
		if b.kind == kind || b.kind == droppedBlock || kind == callBlock && b.kind == otherBlock {
			return b
		}
		d.close(wire)
		break
	}
	return d.add(wire, kind)
}

func (d *decoder) add(wire int, kind blockKind) *openBlock {
	d.open = append(d.open, openBlock{wire: wire, index: d.blocks, kind: kind})
	d.blocks++
	b := &d.open[len(d.open)-1]
	b.stamp = d.stamp(kind)
	if kind == textBlock && d.family.nova {
		b.tags = &splitter{}
	}
	return b
}

// stamp returns the stamp for a block that begins now; "" for none.
func (d *decoder) stamp(kind blockKind) string {
	thinks := kind == thinkingBlock || kind == redactedBlock
	d.spoke = d.spoke || !thinks || d.begun && d.opaque == ""
	if d.stamper == nil || d.spoke {
		return ""
	}
	if d.begun {
		d.stamper.Made(d.opaque)
	}
	d.begun, d.opaque = true, ""
	return d.stamper.Stamp([]byte(answerOpen))
}

// piece yields a piece of a block.
func (d *decoder) piece(wire int, kind blockKind, text string) {
	if kind == callBlock && !d.has(wire) {
		return // of a call that nobody began
	}
	b := d.block(wire, kind)
	switch {
	case text == "" || b.kind == droppedBlock:
	case b.kind == otherBlock:
		b.data = append(b.data, text...)
		d.held += len(text)
	case b.tags != nil:
		b.tags.take(text, func(s string, thinking bool) { d.tagged(b, s, thinking) })
	case kind == textBlock:
		d.send(model.Chunk{Kind: model.ChunkText, Index: b.index, Text: text})
	case kind == thinkingBlock:
		d.send(model.Chunk{Kind: model.ChunkThinking, Index: b.index, Text: text})
	case kind == callBlock:
		d.send(model.Chunk{Kind: model.ChunkCallInput, Index: b.index, Text: text})
	}
}

func (d *decoder) has(wire int) bool {
	for i := range d.open {
		if d.open[i].wire == wire {
			return true
		}
	}
	return false
}

// tagged yields a piece of a text of Nova.
func (d *decoder) tagged(b *openBlock, text string, thinking bool) {
	if thinking != b.aside {
		b.aside = thinking
		b.index = d.blocks
		d.blocks++
	}
	kind := model.ChunkText
	if thinking {
		kind = model.ChunkThinking
	}
	d.send(model.Chunk{Kind: kind, Index: b.index, Text: text})
}

// more handles a piece that the fast path left.
func (d *decoder) more(wire int, delta map[string]json.RawMessage) error {
	for _, key := range members(delta, deltaKinds) {
		var err error
		raw := delta[key]
		switch key {
		case "text":
			err = d.string(raw, func(s string) { d.piece(wire, textBlock, s) })
		case "toolUse":
			var p struct {
				Input string `json:"input"`
			}
			if err = read(raw, &p); err == nil {
				d.piece(wire, callBlock, p.Input)
			}
		case "reasoningContent":
			err = d.reasoning(wire, raw)
		case "citation":
			err = d.cite(raw)
		case "image":
			err = d.picture(wire, raw)
		case "toolResult":
			var parts []json.RawMessage
			if err = read(raw, &parts); err == nil && d.has(wire) {
				b := d.block(wire, otherBlock)
				b.parts = append(b.parts, parts...)
				d.held += len(raw)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) string(raw []byte, use func(string)) error {
	var s string
	if err := read(raw, &s); err != nil {
		return err
	}
	use(s)
	return nil
}

// reasoning handles a piece of thinking: text, signature, or redacted data.
func (d *decoder) reasoning(wire int, raw []byte) error {
	var p struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
		Redacted  string `json:"redactedContent"`
	}
	if err := read(raw, &p); err != nil {
		return err
	}
	if p.Text != "" {
		d.piece(wire, thinkingBlock, p.Text)
	}
	if p.Signature != "" {
		d.sign(d.block(wire, thinkingBlock), p.Signature)
	}
	if p.Redacted != "" {
		data, err := base64.StdEncoding.DecodeString(p.Redacted)
		if err != nil {
			return errUnreadable
		}
		b := d.block(wire, redactedBlock)
		b.data = append(b.data, data...)
		d.held += len(data)
	}
	return nil
}

func (d *decoder) sign(b *openBlock, signature string) {
	if !d.family.claude && !b.signed {
		signature = own + signature
	}
	b.signed = true
	if d.stamper != nil { // nobody else asks for it
		d.opaque += signature
		d.held += len(signature)
	}
	d.send(model.Chunk{Kind: model.ChunkSignature, Index: b.index, ID: b.stamp, Text: signature})
}

type wireCitation struct {
	Title   string `json:"title"`
	Source  string `json:"source"`
	Content []struct {
		Text string `json:"text"`
	} `json:"sourceContent"`
	Location map[string]struct {
		URL   string `json:"url"`
		Start int    `json:"start"`
		End   int    `json:"end"`
	} `json:"location"`
}

// cite yields a citation.
func (d *decoder) cite(raw []byte) error {
	var c wireCitation
	if err := read(raw, &c); err != nil {
		return err
	}
	b := &event.Citation{Title: c.Title, URL: c.Source}
	for _, s := range c.Content {
		b.Quote += s.Text
	}
	for _, kind := range members(c.Location, locationKinds)[:min(len(c.Location), 1)] {
		at := c.Location[kind]
		if at.URL != "" {
			b.URL = at.URL
		}
		if kind == "documentChar" { // the others count pages and pieces
			b.Start, b.End = at.Start, at.End
		}
	}
	d.send(model.Chunk{Kind: model.ChunkBlock, Index: firstCitation + d.cited, Block: b})
	d.cited++
	return nil
}

// picture handles a piece of a generated image.
func (d *decoder) picture(wire int, raw []byte) error {
	var p struct {
		Format string `json:"format"`
		Source struct {
			Bytes []byte `json:"bytes"`
		} `json:"source"`
	}
	if err := read(raw, &p); err != nil {
		return err
	}
	b := d.block(wire, imageBlock)
	if p.Format != "" {
		b.format = p.Format
	}
	b.data = append(b.data, p.Source.Bytes...)
	d.held += len(p.Source.Bytes)
	return nil
}

// begin opens a block.
func (d *decoder) begin(wire int, start map[string]json.RawMessage) error {
	kinds := members(start, startKinds)
	if len(kinds) == 0 {
		return nil
	}
	kind := kinds[0]
	raw := start[kind]
	if kind == "image" {
		return d.picture(wire, raw)
	}
	other := map[string]json.RawMessage{}
	if kind != "toolUse" {
		if json.Unmarshal(raw, &other) == nil {
			d.close(wire)
			b := d.add(wire, otherBlock)
			b.name, b.other = kind, other
		}
		return nil
	}
	var call calledTool
	if err := read(raw, &call); err != nil {
		return err
	}
	d.close(wire)
	if serverTool(call.Type) {
		b := d.add(wire, otherBlock)
		b.name, b.other = kind, other
		return read(raw, &b.other)
	}
	d.call(wire, call.ID, call.Name)
	return nil
}

// call begins a call. It drops calls of the placeholder tool, and with serial all calls after
// the first.
func (d *decoder) call(wire int, id, name string) {
	if own, ok := d.names[name]; ok {
		name = own
	}
	if name == noTool || d.serial && d.calls > 0 {
		d.add(wire, droppedBlock)
		return
	}
	d.calls++
	b := d.add(wire, callBlock)
	d.send(model.Chunk{Kind: model.ChunkCall, Index: b.index, ID: id, Text: name})
}

// close ends a block.
func (d *decoder) close(wire int) {
	for i := range d.open {
		b := &d.open[i]
		if b.wire != wire {
			continue
		}
		switch b.kind {
		case textBlock:
			if b.tags != nil {
				b.tags.end(func(s string, thinking bool) { d.tagged(b, s, thinking) })
			}
		case redactedBlock:
			data := base64.StdEncoding.EncodeToString(b.data)
			if !d.family.claude {
				data = own + data
			}
			d.opaque = data
			d.whole(b.index, &event.RedactedThinking{Data: data, Prefix: b.stamp})
		case imageBlock:
			if len(b.data) > 0 {
				d.whole(b.index, &event.Image{MIME: "image/" + b.format, Data: b.data})
			}
		case otherBlock:
			d.keep(b)
		default:
		}
		d.open = append(d.open[:i], d.open[i+1:]...)
		return
	}
}

func (d *decoder) whole(index int, b event.Block) {
	d.send(model.Chunk{Kind: model.ChunkBlock, Index: index, Block: b})
}

// keep yields a block of a vendor's kind, such as a web search. It adds the prefix to the kind,
// as the log requires.
func (d *decoder) keep(b *openBlock) {
	if b.name == "" {
		return // a piece of something that nobody began
	}
	if b.other == nil {
		b.other = map[string]json.RawMessage{}
	}
	if len(b.data) > 0 && json.Valid(b.data) {
		b.other["input"] = b.data
	}
	if len(b.parts) > 0 {
		content, err := json.Marshal(b.parts)
		if err != nil {
			return
		}
		b.other["content"] = content
	}
	members, err := json.Marshal(b.other)
	if err != nil {
		return
	}
	d.keepRaw(b.index, b.name, members)
}

func (d *decoder) keepRaw(index int, name string, members []byte) {
	raw := strictjson.AppendString([]byte(`{"kind":`), own+name)
	raw = append(strictjson.AppendString(append(raw, ','), name), ':')
	raw = append(append(raw, members...), '}')
	if name == "kind" || strictjson.Check(raw, strictjson.DefaultDepth) != nil {
		return
	}
	d.whole(index, &event.UnknownBlock{Name: event.BlockKind(own + name), Raw: raw})
}
