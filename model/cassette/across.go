package cassette

import (
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// This file hides known secrets that begin in one block of text and end in another. What is recorded of an answer
// and what the next request says of it are hidden alike, so that a replay finds the same.

// acrossBlocks hides in the texts of an answer that comes in pieces.
func (h *hider) acrossBlocks(chunks []chunkLine) {
	if h.mask == nil {
		return
	}
	blocks := map[int][]int{}
	var order []int
	for i := range chunks {
		if c := &chunks[i]; c.Chunk == chunkNames[model.ChunkText] {
			if blocks[c.Index] == nil {
				order = append(order, c.Index)
			}
			blocks[c.Index] = append(blocks[c.Index], i)
		}
	}
	texts, pieces := make([]string, len(order)), make([][]string, len(order))
	for k, index := range order {
		for _, i := range blocks[index] {
			pieces[k] = append(pieces[k], chunks[i].Text)
		}
		texts[k] = strings.Join(pieces[k], "")
	}
	before := slices.Clone(texts)
	if !h.mask.Across(texts) {
		return
	}
	for k, index := range order {
		mend(pieces[k], difference(before[k], texts[k]))
		for n, i := range blocks[index] {
			chunks[i].Text = pieces[k][n]
		}
	}
}

// across hides in the texts of a message or of a tool's result. The blocks that it is given stay as they are.
func (h *hider) across(content []event.Block) []event.Block {
	if h.mask == nil {
		return content
	}
	var at []int
	var texts []string
	own := false
	set := func(i int, b event.Block) {
		if !own {
			content, own = slices.Clone(content), true
		}
		content[i] = b
	}
	for i, b := range content {
		switch b := b.(type) {
		case *event.Text:
			at, texts = append(at, i), append(texts, b.Text)
		case *event.ToolResult:
			r := *b
			r.Content = h.across(b.Content)
			if len(r.Content) != len(b.Content) || !slices.Equal(r.Content, b.Content) {
				set(i, &r)
			}
		}
	}
	if !h.mask.Across(texts) {
		return content
	}
	for k, i := range at {
		if b, ok := content[i].(*event.Text); ok && b.Text != texts[k] {
			set(i, &event.Text{Text: texts[k], Signature: b.Signature})
		}
	}
	return content
}
