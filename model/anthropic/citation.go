package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
)

// citations is the kind of the block that follows a text and holds the citations to send back.
const citations event.BlockKind = own + "citations"

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

type wireCite struct {
	Type      string `json:"type"`
	Cited     string `json:"cited_text"`
	Title     string `json:"title"`
	Document  string `json:"document_title"`
	URL       string `json:"url"`
	Encrypted string `json:"encrypted_index"`
	StartChar int    `json:"start_char_index"`
	EndChar   int    `json:"end_char_index"`
}

// Citation blocks need indexes that no block of the answer uses.
const firstCitation = 1 << 20
