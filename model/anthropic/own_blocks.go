package anthropic

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

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
