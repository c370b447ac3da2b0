package braid_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
)

// Limit bounds what a run may use.
func ExampleLimit() {
	agent := braid.New("guide", plays(requesting("weather", `{"city":"Porto"}`), saying("It rains.")),
		braid.Func("weather", "Reports the weather.", weather), braid.Limit(braid.Limits{Cycles: 1}))
	r, err := agent.Run(context.Background(), "How is Porto?")
	fmt.Println(r.Stop, errors.Is(err, event.ErrLimit))
	// Output:
	// limit_cycles true
}

// Fallback asks another model where the first one fails with one of the kinds.
func ExampleFallback() {
	first, err := demo.New(demo.Script{Name: "first", Rules: []demo.Rule{{Reply: saying("never"), Fault: &demo.Fault{Kind: "unavailable"}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("guide", first,
		braid.Fallback([]event.ErrorKind{event.ErrUnavailable}, plays(saying("The second model answers."))))
	showResult(agent.Run(context.Background(), "Hello."))
	// Output:
	// The second model answers.
}

// Every error of this module is an event.Error, and its kind is an error for errors.Is.
func ExampleAgent_Err() {
	agent := braid.New("guide", nil)
	fmt.Println(errors.Is(agent.Err(), event.ErrInvalid))
	// Output:
	// true
}
