package claude

import (
	"context"
	"encoding/json"
	"iter"
)

// Prompt is what a turn begins with.
type Prompt struct {
	// Text is the prompt. Content replaces it: a list of blocks of the Messages API, such as texts and images.
	Text    string
	Content json.RawMessage
	// UUID is the id of the message; empty for none.
	UUID string
}

// line is the prompt as a line of the program's input.
func (c *config) line(p Prompt) map[string]any {
	var content any = p.Text
	if p.Content != nil {
		content = p.Content
	}
	l := map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": content}, "parent_tool_use_id": nil, "session_id": "",
	}
	if c.prompt.literal {
		l["client_composed"] = true
	}
	if p.UUID != "" {
		l["uuid"] = p.UUID
	}
	return l
}

// Turn sends a prompt and ranges over the messages until the turn has ended, including what sub-agents in the background
// lead to. The last message is a [Result], whose Err says whether the turn failed; an error of the sequence means that
// there is no result. Leaving the loop, or the end of ctx, interrupts the turn and keeps the process for the next one. A
// process that does not end the turn within some seconds then is ended.
func (c *Client) Turn(ctx context.Context, text string) iter.Seq2[Message, error] {
	return c.TurnOf(ctx, Prompt{Text: text})
}

// TurnOf is [Client.Turn] for any prompt.
func (c *Client) TurnOf(ctx context.Context, p Prompt) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		select {
		case c.turn <- struct{}{}:
		default:
			yield(nil, ErrBusy)
			return
		}
		over := false
		defer func() {
			if !over {
				c.breakOff()
			}
			<-c.turn
		}()
		if err := ctx.Err(); err != nil {
			over = true
			yield(nil, err)
			return
		}
		if err := c.write(ctx, c.config.line(p)); err != nil {
			over = true
			yield(nil, err)
			return
		}
		for !over {
			m, err := c.queue.next(ctx)
			if err != nil {
				over = ctx.Err() == nil
				yield(nil, err)
				return
			}
			over = c.tasks.over(m)
			if c.shown(m) && !yield(m, nil) {
				return
			}
		}
	}
}

// breakOff interrupts the turn and drops what is left of it. A program that does not end it is ended.
func (c *Client) breakOff() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*grace)
	defer cancel()
	_, err := c.request(ctx, "interrupt", nil, grace)
	for err == nil {
		var m Message
		if m, err = c.queue.next(ctx); err == nil && c.tasks.over(m) {
			return
		}
	}
	c.kill()
}

// tasks tells when a turn has ended: at a result, unless sub-agents run in the background or have ended there. Each of
// those gives a further result.
type tasks struct {
	running map[string]bool
	// told is how many have ended without a result that answers that.
	told int
	// results is how many the turn has had.
	results int
}

// over takes in a message and reports whether the turn has ended with it.
func (t *tasks) over(m Message) bool {
	switch m := m.(type) {
	case *TaskStarted:
		if m.Background {
			t.start(m.TaskID)
		}
	case *TaskUpdated:
		if b := m.Patch.Background; b != nil && *b {
			t.start(m.TaskID)
		}
	case *TaskNotification:
		if t.running[m.TaskID] {
			delete(t.running, m.TaskID)
			t.told++
		}
	case *BackgroundTasks:
		live := map[string]bool{}
		for _, one := range m.Tasks {
			live[one.TaskID] = true
		}
		for id := range t.running {
			if !live[id] {
				delete(t.running, id)
			}
		}
	case *SessionState:
		// The program waits for a prompt, so no further result follows. One of before this turn has nothing to say.
		if m.State == "idle" && len(t.running) == 0 && t.results > 0 {
			*t = tasks{}
			return true
		}
	case *Result:
		t.results++
		if m.Origin.Kind == "task-notification" && t.told > 0 {
			t.told--
		}
		if m.TerminalReason == "aborted_streaming" || m.TerminalReason == "aborted_tools" {
			*t = tasks{}
		}
		if len(t.running) == 0 && t.told == 0 {
			*t = tasks{}
			return true
		}
	}
	return false
}

func (t *tasks) start(id string) {
	if t.running == nil {
		t.running = map[string]bool{}
	}
	t.running[id] = true
}

// shown reports whether the reader wants a message.
func (c *Client) shown(m Message) bool {
	_, state := m.(*SessionState)
	return !state || c.config.output.states
}

// Interrupt ends the running turn. The process stays, and the turn ends with a result of kind [event.ErrCancelled].
func (c *Client) Interrupt(ctx context.Context) error {
	_, err := c.Control(ctx, "interrupt", nil)
	return err
}
