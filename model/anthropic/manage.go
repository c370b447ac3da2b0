package anthropic

import (
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// leastCompact is the smallest allowed threshold for the vendor's summaries, in tokens
// (build-with-claude/compaction-threshold#parameters).
const leastCompact = 50_000

// compaction is the kind of the block that holds a summary by the vendor.
const compaction = own + "compaction"

// appendContext writes the edits that shorten the conversation. Amazon Bedrock has both of them
// (AWS's pages claude-messages-compaction and
// model-parameters-anthropic-claude-messages-tool-use).
func (m *Model) appendContext(b []byte, c *model.ContextManagement) ([]byte, error) {
	if !c.Any() {
		return b, nil
	}
	g := generation(m.name)
	switch {
	case c.Truncate:
		return nil, notSent(event.ErrUnsupported, "Claude drops nothing of a conversation by itself",
			"use Compact, ClearResults or the agent's own Manage")
	case c.KeepResults > 0 && c.ClearResults <= 0:
		return nil, notSent(event.ErrInvalid, "KeepResults says how many results stay, but nothing clears them",
			"set ClearResults")
	case c.ClearResults < 0 || c.KeepResults < 0 || c.Compact < 0:
		return nil, notSent(event.ErrInvalid, "a number of tokens or results is negative", "leave it out, or set it above 0")
	case c.ClearResults > 0 && g > 0 && g < 400:
		return nil, notSent(event.ErrUnsupported, "the vendor does not clear results for this model", "take Claude 4 or a newer one")
	case c.Compact > 0 && g > 0 && g < 406:
		return nil, notSent(event.ErrUnsupported, "the vendor does not summarise for this model",
			"take Claude 4.6 or a newer one, or the agent's own Manage")
	case c.Compact > 0 && c.Compact < leastCompact:
		return nil, notSent(event.ErrInvalid, "the vendor summarises from %d tokens on, not from %d",
			"set Compact higher", leastCompact, c.Compact)
	}
	b = append(b, `,"context_management":{"edits":[`...)
	if c.ClearResults > 0 {
		b = strconv.AppendInt(append(b, `{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":`...), int64(c.ClearResults), 10)
		b = append(b, '}')
		if c.KeepResults > 0 {
			b = strconv.AppendInt(append(b, `,"keep":{"type":"tool_uses","value":`...), int64(c.KeepResults), 10)
			b = append(b, '}')
		}
		b = append(b, '}', ',')
	}
	if c.Compact > 0 {
		b = strconv.AppendInt(append(b, `{"type":"compact_20260112","trigger":{"type":"input_tokens","value":`...), int64(c.Compact), 10)
		b = append(b, `}},`...)
	}
	b[len(b)-1] = ']'
	return append(b, '}'), nil
}
