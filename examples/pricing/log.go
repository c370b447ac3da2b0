package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// cycle is one model call and the tools that it asked for, as the log has them.
type cycle struct {
	// whys are why the loop went on to it; there are several where the call was repeated.
	whys  []string
	stop  event.StopReason
	calls []*toolCall
}

type toolCall struct {
	name, args, outcome, result string
}

// writeLog reads a conversation's log and says of each cycle why it began, which tools
// it asked for and what came of them, and at last why the loop ended. Nothing of it was
// kept in memory: any process, on any day, reads the same.
func writeLog(ctx context.Context, out io.Writer, c *braid.Conversation) error {
	var cycles []*cycle
	calls := map[string]*toolCall{}
	var ended *event.RunEnded
	for e, err := range c.Events(ctx, 0) {
		if err != nil {
			return err
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if b.Step != event.StepModel {
				continue
			}
			if len(cycles) < e.Cycle {
				cycles = append(cycles, &cycle{})
			}
			last := cycles[len(cycles)-1]
			last.whys = append(last.whys, string(b.Why))
		case *event.AssistantMessage:
			last := cycles[len(cycles)-1]
			last.stop = b.Stop
			for _, call := range event.CallsOf(b.Content) {
				t := &toolCall{name: call.Name, args: string(call.Args)}
				last.calls, calls[call.ID] = append(last.calls, t), t
			}
		case *event.StepEnded:
			if b.Result == nil {
				continue
			}
			if t := calls[b.Result.Call]; t != nil {
				t.outcome, t.result = string(b.Outcome), event.TextOf(b.Result.Content)
				if b.Result.IsError {
					t.outcome = "an error, told to the model"
				}
			}
		case *event.RunEnded:
			ended = b
		default:
		}
	}
	var text strings.Builder
	n := 0
	for i, one := range cycles {
		fmt.Fprintf(&text, "cycle %d, because of %s: the model stopped with %s\n", i+1, strings.Join(one.whys, ", "), one.stop)
		for _, t := range one.calls {
			n++
			fmt.Fprintf(&text, "  #%d %s %s\n     %s: %s\n", n, t.name, t.args, t.outcome, t.result)
		}
	}
	if ended != nil {
		fmt.Fprintf(&text, "ended: %s after %d cycles, because of %s\n", ended.Status, ended.Cycles, ended.Why)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
