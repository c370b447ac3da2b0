package braid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/trace"
)

// During says what happens to a message while a run is open. Queue answers it afterwards.
func ExampleDuring() {
	ctx, conv := context.Background(), braid.NewConversation()
	agent := braid.New("guide", plays(saying("First."), saying("Second.")))
	first, err := agent.Send(ctx, conv, "one")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = agent.Send(ctx, conv, "two")
	fmt.Println(errors.Is(err, event.ErrLocked))
	second, err := agent.Send(ctx, conv, "two", braid.During(braid.Queue))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range []string{first.Run, second.Run} {
		showResult(agent.Drive(ctx, conv, run, braid.Work{}))
	}
	// Output:
	// true
	// First.
	// Second.
}

// Resume continues where the log ends. No finished step is repeated.
func ExampleAgent_Resume() {
	ctx, store, booked := context.Background(), &journal.Memory{}, 0
	book := braid.Func("book", "Books a hotel.", func(_ context.Context, in whereTo) (string, error) {
		booked++
		return "booked in " + in.City, nil
	})
	agent := func(cycles int) *braid.Agent {
		return braid.New("guide", plays(requesting("book", `{"city":"Porto"}`), saying("It is booked.")), book,
			braid.Limit(braid.Limits{Cycles: cycles}))
	}
	r, err := agent(1).Run(ctx, "Book a hotel.", braid.In(braid.Open(store, "trip")))
	fmt.Println(r.Stop, errors.Is(err, event.ErrLimit))

	// Any process that opens the same log can do this.
	showResult(agent(2).Resume(ctx, braid.Open(store, "trip")))
	fmt.Println("bookings:", booked)
	// Output:
	// limit_cycles true
	// It is booked.
	// bookings: 1
}

// A snapshot carries messages and state to another conversation.
func ExampleConversation_Snapshot() {
	ctx, from, to := context.Background(), braid.NewConversation(), braid.NewConversation()
	agent := braid.New("guide", plays(saying("Hello, Ann."), saying("You are Ann.")))
	showResult(agent.Run(ctx, "I am Ann.", braid.In(from)))
	s, err := from.Snapshot(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := json.NewEncoder(&file).Encode(s); err != nil {
		fmt.Println(err)
		return
	}
	read, err := braid.ReadSnapshot(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := to.Load(ctx, read); err != nil {
		fmt.Println(err)
		return
	}
	showResult(agent.Run(ctx, "Who am I?", braid.In(to)))
	// Output:
	// Hello, Ann.
	// You are Ann.
}

// A trace is a view of the log: the tree of what a run did.
func ExampleConversation_Events() {
	ctx := context.Background()
	agent := braid.New("guide", plays(requesting("weather", `{"city":"Porto"}`), saying("It rains.")),
		braid.Func("weather", "Reports the weather.", weather))
	r, err := agent.Run(ctx, "How is Porto?")
	showResult(r, err)
	var tree trace.Tree
	for e, err := range r.Conversation.Events(ctx, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		tree.Add(e)
	}
	var outline func(s *trace.Span, indent string)
	outline = func(s *trace.Span, indent string) {
		fmt.Println(indent + strings.TrimSpace(string(s.Kind)+" "+s.Name))
		for _, c := range s.Children {
			outline(c, indent+"- ")
		}
	}
	outline(tree.Root(), "")
	// Output:
	// It rains.
	// run guide
	// - cycle
	// - - model demo:example
	// - - tool weather
	// - cycle
	// - - model demo:example
}
