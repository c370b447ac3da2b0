package bound

import (
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Without returns req with change applied to each block of the model's own messages, and the number
// of changed blocks. A nil result of change removes the block. It does not change req.
func Without(req *model.Request, change func(event.Block) event.Block) (*model.Request, int) {
	own, n := *req, 0
	own.Messages = append([]event.Message(nil), req.Messages...)
	for i := range own.Messages {
		m := &own.Messages[i]
		if m.Role != event.RoleAssistant {
			continue
		}
		content := make([]event.Block, 0, len(m.Content))
		for _, b := range m.Content {
			to := change(b)
			if to != b {
				n++
			}
			if to != nil {
				content = append(content, to)
			}
		}
		m.Content = content
	}
	return &own, n
}
