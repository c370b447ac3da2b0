package bound

import (
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
)

// refusal is how Claude's API refuses thinking of the history: it belongs to another
// request or account, or somebody changed it
// (build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation). Names of
// blocks and members stand in backquotes there, and did not always.
var refusal = lazyre.New(`(?i)invalid .{0,4}(signature|data).{0,8} in .{0,4}(redacted_)?thinking|block is bound to a different|` +
	`thinking.{0,24} blocks in the latest assistant message cannot be modified`)

// Refused reports whether an error of Claude's API refuses the thinking in a request.
func Refused(message string) bool { return refusal.MatchString(message) }

// Report is the chunk that reports how many blocks a request left out; refused says
// that the vendor had refused them.
func Report(blocks int, refused bool) model.Chunk {
	c := model.Chunk{Kind: model.ChunkThinkingDropped, Index: blocks}
	if refused {
		c.Text = "refused"
	}
	return c
}
