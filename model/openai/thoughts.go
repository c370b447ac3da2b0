package openai

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/braidrun/braid/model"
)

// seen records where a stream of Chat Completions contained the model's thinking.
type seen struct {
	// content, member and parts are set by the places that held thinking.
	content, member, parts bool
	details                []detail
	// blocks are the indexes of the thinking blocks.
	blocks []int
}

// detail is one of OpenRouter's reasoning_details, which arrives in pieces.
type detail map[string]json.RawMessage

// note records the thinking of one event.
func (s *seen) note(content, member, parts *string, details []detail) {
	s.content, s.member, s.parts = s.content || *content != "", s.member || *member != "", s.parts || *parts != ""
	for _, d := range details {
		if n := len(s.details); n == 0 || !s.details[n-1].grow(d) {
			s.details = append(s.details, maps.Clone(d))
		}
	}
}

// grow appends a piece of the same detail. It joins the texts and adds members that appear for
// the first time, such as the signature at the end. It reports false if the piece begins
// another detail. An encrypted detail arrives in one piece.
func (d detail) grow(piece detail) bool {
	kind := text(d["type"])
	if kind != text(piece["type"]) || kind != "reasoning.text" && kind != "reasoning.summary" || string(d["index"]) != string(piece["index"]) {
		return false
	}
	for _, k := range slices.Sorted(maps.Keys(piece)) {
		raw := piece[k]
		switch {
		case k == "text" || k == "summary":
			joined, err := json.Marshal(text(d[k]) + text(raw))
			if err != nil {
				return false
			}
			d[k] = joined
		case len(d[k]) == 0 || string(d[k]) == "null":
			d[k] = raw
		}
	}
	return true
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// sign yields the signatures that record how the thinking goes back; see the marks. Thinking in
// reasoning_content needs none. The thinking of an answer without calls never goes back.
func (d *chatDecoder) sign() {
	s := &d.seen
	if len(d.calls) == 0 {
		return
	}
	if len(s.details) > 0 {
		list, err := json.Marshal(s.details)
		if err != nil {
			return // it was decoded from JSON
		}
		if len(s.blocks) == 0 { // only encrypted thinking
			d.kind, s.blocks = 0, append(s.blocks, d.next)
			d.to.send(model.Chunk{Kind: model.ChunkThinking, Index: d.next})
			d.next++
		}
		d.to.send(model.Chunk{Kind: model.ChunkSignature, Index: s.blocks[0], Text: opaque(markDetails, d.host, string(list))})
		s.blocks = s.blocks[1:]
	}
	var mark string
	switch {
	case s.parts:
		mark = markParts
	case s.member && !s.content:
		mark = markMember
	default:
		return
	}
	for _, index := range s.blocks {
		d.to.send(model.Chunk{Kind: model.ChunkSignature, Index: index, Text: mark})
	}
}
