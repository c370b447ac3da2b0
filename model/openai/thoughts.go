package openai

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/braidrun/braid/model"
)

// seen is what a stream of Chat Completions has shown of the model's thoughts, beside
// their words.
type seen struct {
	// content, member and parts are the places in which they stood.
	content, member, parts bool
	details                []detail
	// blocks are the numbers of the blocks of thinking.
	blocks []int
}

// detail is one of OpenRouter's reasoning_details, of which pieces come one by one.
type detail map[string]json.RawMessage

// note takes what one event shows.
func (s *seen) note(content, member, parts *string, details []detail) {
	s.content, s.member, s.parts = s.content || *content != "", s.member || *member != "", s.parts || *parts != ""
	for _, d := range details {
		if n := len(s.details); n == 0 || !s.details[n-1].grow(d) {
			s.details = append(s.details, maps.Clone(d))
		}
	}
}

// grow adds a piece of the same detail. Its words are joined, and what it says for the
// first time, such as the signature at the end, is taken over. It reports false where the
// piece begins another detail. A detail that is encrypted comes whole.
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

// sign says of the blocks of thinking in which form they go back; see the marks.
// Thoughts that came as reasoning_content need none, and those of an answer without
// calls never go back.
func (d *chatDecoder) sign() {
	s := &d.seen
	if len(d.calls) == 0 {
		return
	}
	if len(s.details) > 0 {
		list, err := json.Marshal(s.details)
		if err != nil {
			return // it was read from JSON
		}
		if len(s.blocks) == 0 { // nothing but what is encrypted
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
