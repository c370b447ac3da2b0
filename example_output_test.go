package braid_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/braidrun/braid"
)

type trip struct {
	City string `json:"city"`
	Days int    `json:"days"`
}

// RunAs makes the model answer with a value of a Go type.
func ExampleRunAs() {
	agent := braid.New("planner", plays(requesting(braid.OutputTool, `{"city":"Porto","days":3}`)))
	t, _, err := braid.RunAs[trip](context.Background(), agent, "Plan a trip.")
	fmt.Println(t.City, t.Days, err)
	// Output:
	// Porto 3 <nil>
}

// OutputSchema does the same with a JSON schema, and the result holds JSON.
func ExampleOutputSchema() {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	agent := braid.New("planner", plays(requesting(braid.OutputTool, `{"city":"Porto"}`)), braid.OutputSchema(schema))
	r, err := agent.Run(context.Background(), "Name a city.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(r.Output))
	// Output:
	// {"city":"Porto"}
}
