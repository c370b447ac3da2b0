package braid_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

// plays returns a demo model that gives these replies one after another, and the last one from then on.
func plays(replies ...[]demo.Piece) braid.Model {
	return demo.Answer("example", func(r *model.Request) demo.Rule {
		given := 0
		for _, m := range r.Messages {
			if m.Role == event.RoleAssistant {
				given++
			}
		}
		return demo.Rule{Reply: replies[min(given, len(replies)-1)]}
	})
}

// saying is a reply of the demo model: a text.
func saying(text string) []demo.Piece { return []demo.Piece{demo.Say(text)} }

// requesting is a reply of the demo model: a call of a tool.
func requesting(tool, args string) []demo.Piece { return []demo.Piece{demo.Call(tool, args)} }

// whereTo is the argument of the tools of these examples.
type whereTo struct {
	City string `json:"city"`
}

// weather is a tool that knows one kind of weather.
func weather(_ context.Context, in whereTo) (string, error) { return "rain in " + in.City, nil }

// showResult prints the answer of a run, or why there is none.
func showResult(r *braid.Result, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Text())
}
