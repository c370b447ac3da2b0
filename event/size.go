package event

import "encoding/json"

// blockSize is about what a block takes beside its content.
const blockSize = 64

// SizeOf is about how many bytes of memory the content of a body takes: its text, raw JSON and data.
// It is for bounds, and need not be exact.
func SizeOf(b Body) int {
	if b == nil {
		return 0
	}
	return b.size()
}

func sizeOfBlocks(blocks []Block) int {
	n := 0
	for _, b := range blocks {
		n += blockSize
		if b != nil {
			n += b.size()
		}
	}
	return n
}

func sizeOfResult(b *ToolResult) int {
	if b == nil {
		return 0
	}
	return b.size()
}

func sizeOfStrings(list []string) int {
	n := 0
	for _, s := range list {
		n += len(s)
	}
	return n
}

func sizeOfMap[V string | json.RawMessage](m map[string]V) int {
	n := 0
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}
