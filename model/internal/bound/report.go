package bound

import (
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
)

// refusal matches the errors with which Claude's API refuses thinking of the history: it belongs to
// another request or account, or it was changed
// (build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation). Names of blocks and
// members are sometimes in backquotes.
var refusal = lazyre.New(`(?i)invalid .{0,4}(signature|data).{0,8} in .{0,4}(redacted_)?thinking|block is bound to a different|` +
	`thinking.{0,24} blocks in the latest assistant message cannot be modified`)

// Refused reports whether an error of Claude's API refuses the thinking in a request.
func Refused(message string) bool { return refusal.MatchString(message) }

// Report returns the chunk that reports how many blocks a request left out. refused reports that
// the vendor had refused them.
func Report(blocks int, refused bool) model.Chunk {
	c := model.Chunk{Kind: model.ChunkThinkingDropped, Index: blocks}
	if refused {
		c.Text = "refused"
	}
	return c
}
