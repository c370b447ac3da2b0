package demo

import (
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// block is a piece of a reply without variables.
type block struct {
	kind model.ChunkKind
	// text is text, thinking, or the name of the called tool.
	text string
	// id and args belong to a call. An empty id is filled in while streaming, unless keepID is set.
	id     string
	args   string
	keepID bool
	whole  event.Block
}

// chunk is a precomputed piece of the stream.
type chunk struct {
	model.Chunk
	// call numbers the calls that get a derived id, from 1; 0 means none.
	call int
}

// inputPiece is how many bytes of a call's arguments one piece has. Huge arguments have larger pieces, as with real
// providers.
const (
	inputPiece     = 12
	hugeInputPiece = 64 << 10
)

// chunksOf cuts blocks into the pieces of a stream. fixed is the number of characters per piece; 0 means about a
// word.
func chunksOf(blocks []block, fixed int) []chunk {
	n := 0
	for i := range blocks {
		n += 2 + len(blocks[i].text)/4 + min(len(blocks[i].args)/inputPiece, 1024)
	}
	out := make([]chunk, 0, n)
	calls := 0
	for i := range blocks {
		b := &blocks[i]
		switch b.kind {
		case model.ChunkCall:
			calls++
			c := chunk{Chunk: model.Chunk{Kind: model.ChunkCall, Index: i, ID: b.id, Text: b.text}}
			if b.id == "" && !b.keepID {
				c.call = calls
			}
			out = append(out, c)
			size := inputPiece
			if len(b.args) > hugeInputPiece {
				size = hugeInputPiece
			}
			for rest := b.args; rest != ""; {
				k := cut(rest, size)
				out = append(out, chunk{Chunk: model.Chunk{Kind: model.ChunkCallInput, Index: i, Text: rest[:k]}})
				rest = rest[k:]
			}
		case model.ChunkBlock:
			out = append(out, chunk{Chunk: model.Chunk{Kind: b.kind, Index: i, Block: b.whole}})
		default:
			for rest := b.text; rest != ""; {
				k := word(rest)
				if fixed > 0 {
					k = runes(rest, fixed)
				}
				out = append(out, chunk{Chunk: model.Chunk{Kind: b.kind, Index: i, Text: rest[:k]}})
				rest = rest[k:]
			}
		}
	}
	return out
}

// cut returns the largest length up to n bytes that ends between characters, and at least one character.
func cut(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for k := n; k > 0 && k > n-utf8.UTFMax; k-- {
		if utf8.RuneStart(s[k]) {
			return k
		}
	}
	return n
}

// runes returns the length of the first n characters. A byte that is not UTF-8 counts as one.
func runes(s string, n int) int {
	k := 0
	for ; n > 0 && k < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[k:])
		k += size
	}
	return k
}

// word returns the length of a typical piece: a short word with the space after it, or two characters of a script
// without spaces.
func word(s string) int {
	weight := 0
	for k, r := range s {
		if weight >= 12 {
			return k
		}
		switch {
		case unicode.IsSpace(r):
			if weight++; weight >= 3 {
				_, size := utf8.DecodeRuneInString(s[k:])
				return k + size
			}
		case r >= 0x2e80:
			weight += 6
		default:
			weight++
		}
	}
	return len(s)
}
