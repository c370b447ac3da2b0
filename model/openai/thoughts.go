package openai

import (
	"encoding/json"
	"maps"
	"slices"
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
