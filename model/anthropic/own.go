package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// own is the prefix of block kinds that only this vendor has. Such blocks are sent back
// unchanged.
const own = "anthropic."

// citations is the kind of the block that follows a text and holds the citations to send back.
const citations event.BlockKind = own + "citations"

// member is a member of a JSON object. Slices of members keep the order of the object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf decodes a JSON object.
func membersOf(raw []byte) (all []member, ok bool) {
	if strictjson.Check(raw, strictjson.DefaultDepth) != nil {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		t, err := dec.Token()
		name, isName := t.(string)
		m := member{name: name}
		if err != nil || !isName || dec.Decode(&m.value) != nil {
			return nil, false
		}
		all = append(all, m)
	}
	return all, true
}

// set replaces the value of a member, or appends the member.
func set(all []member, name string, value json.RawMessage) []member {
	for i := range all {
		if all[i].name == name {
			all[i].value = value
			return all
		}
	}
	return append(all, member{name, value})
}

// appendMembers writes members, separated by commas.
func appendMembers(b []byte, all []member) []byte {
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strictjson.AppendString(b, m.name), ':'), m.value...)
	}
	return b
}

// keep yields a block of a vendor's kind, such as a web search. It adds the prefix to the kind,
// as the log requires.
func (d *decoder) keep(b *openBlock) {
	if len(b.parts) > 0 && json.Valid(b.parts) {
		b.other = set(b.other, "input", b.parts)
	}
	var kind string
	for _, m := range b.other {
		if m.name == "kind" || m.name == "type" && json.Unmarshal(m.value, &kind) != nil {
			return // not the vendor's
		}
	}
	raw := append(strictjson.AppendString([]byte(`{"kind":`), own+kind), ',')
	raw = append(appendMembers(raw, b.other), '}')
	if strictjson.Check(raw, strictjson.DefaultDepth) != nil {
		return
	}
	block := &event.UnknownBlock{Name: event.BlockKind(own + kind), Raw: raw}
	if d.bind != nil {
		d.bind.other = block
	}
	d.send(model.Chunk{Kind: model.ChunkBlock, Index: b.index, Block: block})
}

// compacted handles the delta with the vendor's summary, which arrives in one piece.
func (d *decoder) compacted(index int, delta []byte) {
	for i := range d.open {
		b := &d.open[i]
		if b.index != index || b.other == nil {
			continue
		}
		all, _ := membersOf(delta)
		for _, m := range all {
			if m.name != "type" {
				b.other = set(b.other, m.name, m.value)
			}
		}
	}
}

// cite handles a citation. It yields the citation, and stores citations of search results to
// send them back with their text (agents-and-tools/tool-use/web-search-tool#citations). Other
// citations are not sent back.
func (d *decoder) cite(index int, raw json.RawMessage) error {
	var c wireCite
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if c.Type == "web_search_result_location" && c.Encrypted != "" {
		d.citing(index, raw)
	} else if d.bind != nil {
		d.bind.lossy = true
	}
	if c.Title == "" {
		c.Title = c.Document
	}
	d.send(model.Chunk{Kind: model.ChunkBlock, Index: firstCitation + d.cites, Block: &event.Citation{
		Title: c.Title, URL: c.URL, Quote: c.Cited, Start: c.StartChar, End: c.EndChar,
	}})
	d.cites++
	return nil
}

// citing adds a citation to the open text block.
func (d *decoder) citing(index int, raw []byte) {
	for i := range d.open {
		if b := &d.open[i]; b.index == index {
			if b.cites != nil {
				b.cites = append(append(b.cites, ','), raw...)
			}
			return
		}
	}
	d.open = append(d.open, openBlock{index: index, cites: bytes.Clone(raw)})
}

// cited yields the citations of a text block.
func (d *decoder) cited(b *openBlock) {
	raw := append(append([]byte(`{"kind":"`+string(citations)+`","citations":[`), b.cites...), `]}`...)
	if strictjson.Check(raw, strictjson.DefaultDepth) != nil {
		if d.bind != nil {
			d.bind.lossy = true
		}
		return
	}
	block := &event.UnknownBlock{Name: citations, Raw: raw}
	if d.bind != nil {
		d.bind.other = block
	}
	d.send(model.Chunk{Kind: model.ChunkBlock, Index: firstCitation + d.cites, Block: block})
	d.cites++
}

// vendors writes a block of a vendor's kind unchanged.
func (e *encoder) vendors(b *event.UnknownBlock) {
	if len(b.Name) <= len(own) || b.Name[:len(own)] != own || b.Name == compaction && !e.compacts {
		return
	}
	members, ok := membersOf(b.Raw)
	if !ok {
		return
	}
	kept := members[:0]
	for _, m := range members {
		if m.name != "kind" {
			kept = append(kept, m)
		}
	}
	switch {
	case b.Name == setupBlock, len(kept) == 0:
	case b.Name == citations:
		// The citations belong to the text before them.
		if e.cited == len(e.dst) && e.blocks > 0 {
			e.dst = append(e.dst[:len(e.dst)-len("},")], ',')
			e.dst = appendMembers(e.dst, kept)
			e.end()
		}
	default:
		e.begin("{")
		e.dst = appendMembers(e.dst, kept)
		e.end()
	}
}
