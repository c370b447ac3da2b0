package drive

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
)

// agentInput reads the arguments of a call to an agent, or says what is wrong.
func agentInput(c *event.ToolCall) ([]event.Block, string) {
	if c.Args == nil {
		return nil, "Error: " + c.Fault + "."
	}
	var args struct {
		Input string `json:"input"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil || args.Input == "" {
		return nil, `Error: invalid arguments: input is missing; it says what the agent is to do.`
	}
	return []event.Block{&event.Text{Text: args.Input}}, ""
}
