package reqcache

import (
	"bytes"
	"slices"

	"github.com/braidrun/braid/model"
)

// Head caches the encoding of instructions and tools, which seldom change in a conversation. The
// zero value is ready for use.
type Head[T any] struct {
	made         T
	full         bool
	instructions string
	tools        []model.ToolSpec
}

// Of returns the encoding of req's instructions and tools. It calls build if they differ from the
// last ones; build may reuse the memory of before. After an error nothing is cached.
func (h *Head[T]) Of(req *model.Request, build func(before T) (T, error)) (T, error) {
	if h.full && h.instructions == req.Instructions && slices.EqualFunc(h.tools, req.Tools, sameTool) {
		return h.made, nil
	}
	before := h.made
	var none T
	h.made, h.full = none, false
	made, err := build(before)
	if err != nil {
		return none, err
	}
	h.made, h.full, h.instructions, h.tools = made, true, req.Instructions, slices.Clone(req.Tools)
	return made, nil
}

// Made returns the cached value, or the zero value.
func (h *Head[T]) Made() T { return h.made }

func sameTool(a, b model.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Strict == b.Strict && bytes.Equal(a.Schema, b.Schema)
}
