package printer

import (
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/agentcore"
)

// AgentCoreTranscript prints the stream of an AgentCore agent for users. It translates the items to events
// of a [Transcript].
type AgentCoreTranscript struct {
	Transcript *Transcript
	Reader     *agentcore.Reader
	Sum        agentcore.Summary
	// message counts the model's answers.
	message int
	// spoken is set once a piece of this answer was printed.
	spoken bool
	// ended is set if the next piece begins another answer.
	ended bool
	// carded is the number of calls with a card.
	carded int
	// results holds the calls whose end was printed.
	results map[int]bool
	// said is set once any text was printed.
	said bool
	// other holds values without a known meaning.
	other []string
}

// Take prints one item. It returns errors of the output.
func (h *AgentCoreTranscript) Take(it *agentcore.Item) error {
	h.Sum.Add(it)
	switch it.Kind {
	case agentcore.KindText:
		if !it.Repeats && len(it.Text) > 0 {
			h.said = true
			return h.piece(&event.TextDelta{Text: string(it.Text)})
		}
	case agentcore.KindThinking:
		if !it.Repeats && len(it.Text) > 0 {
			return h.piece(&event.ThinkingDelta{Text: string(it.Text)})
		}
	case agentcore.KindReplaced:
		h.said = true
		return h.piece(&event.AnswerReplaced{Text: string(it.Text)})
	case agentcore.KindToolUse:
		return h.cards(nil)
	case agentcore.KindMessage:
		if it.Role == "assistant" && it.Repeats {
			return nil
		}
		if it.Role == "assistant" {
			return h.cards(it.Content)
		}
		return h.closeCalls()
	case agentcore.KindMessageStop:
		h.ended = true
	case agentcore.KindThrottled:
		now := time.Now()
		e := h.event(&event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: now.Add(it.Delay),
			Err: &event.Error{Kind: event.ErrThrottled, Message: "the model is asked too often"},
		})
		e.Time, e.Attempt = now, 1
		return h.Transcript.Event(e)
	case agentcore.KindNotice:
		return h.note(string(it.Text))
	case agentcore.KindToolStream:
		if len(it.Tools) > 0 && len(it.Text) > 0 {
			return h.Transcript.Event(h.event(&event.ToolProgress{Call: h.call(it.Tools[0]), Tool: it.Tools[0].Name, Text: string(it.Text)}))
		}
	case agentcore.KindInterrupt:
		return h.note("the agent asks, and waits for an answer: " + string(it.Data))
	case agentcore.KindStructured:
		h.said = true
		return h.piece(&event.TextDelta{Text: string(it.Data) + "\n"})
	case agentcore.KindResult:
		if !h.said && len(it.Text) > 0 {
			h.said = true
			return h.piece(&event.TextDelta{Text: string(it.Text)})
		}
	case agentcore.KindAnomaly:
		if it.Anomaly != agentcore.Truncated {
			return h.note("the stream holds what cannot be read: " + string(it.Anomaly))
		}
	case agentcore.KindOther:
		const most = 64
		if len(h.other) < most {
			h.other = append(h.other, string(it.Raw))
		}
	}
	return nil
}

// End prints calls that no message contained. If there was no text, it prints the other values of the
// stream.
func (h *AgentCoreTranscript) End() error {
	h.Sum.End(h.Reader)
	if err := h.cards(nil); err != nil {
		return err
	}
	if err := h.closeCalls(); err != nil {
		return err
	}
	if !h.said && len(h.other) > 0 {
		if err := h.piece(&event.TextDelta{Text: strings.Join(h.other, "\n")}); err != nil {
			return err
		}
	}
	h.Transcript.closeText()
	h.Transcript.out.StartLine()
	return h.Transcript.out.Flush()
}

func (h *AgentCoreTranscript) event(body event.Body) *event.Event {
	e := &event.Event{Body: body}
	e.Step = "answer" + strconv.Itoa(h.message)
	return e
}

// piece prints a part of an answer.
func (h *AgentCoreTranscript) piece(body event.Body) error {
	if h.ended {
		h.message, h.ended = h.message+1, false
	}
	h.spoken = true
	return h.Transcript.Event(h.event(body))
}

func (h *AgentCoreTranscript) note(text string) error {
	return h.Transcript.Event(h.event(&event.Notice{Text: text}))
}

// cards prints a card for each new call. If the message was not streamed, its text comes first.
func (h *AgentCoreTranscript) cards(content []event.Block) error {
	m := &event.AssistantMessage{}
	for _, b := range content {
		if t, ok := b.(*event.Text); ok && !h.spoken && t.Text != "" {
			h.said = true
			m.Content = append(m.Content, t)
		}
	}
	for _, u := range h.Reader.Tools()[h.carded:] {
		if content == nil && u.Input == nil && u.Name == "" && u.Title == "" {
			break // the rest of it will follow
		}
		m.Content = append(m.Content, &event.ToolCall{ID: h.call(u), Name: h.label(u), Args: u.Input})
		h.carded++
	}
	if len(m.Content) == 0 && content == nil {
		return nil
	}
	if content != nil {
		h.ended, h.spoken = true, false
	}
	return h.Transcript.Event(h.event(m))
}

// closeCalls prints new results.
func (h *AgentCoreTranscript) closeCalls() error {
	for i, u := range h.Reader.Tools()[:h.carded] {
		if u.Result == nil || h.results[i] {
			continue
		}
		if h.results == nil {
			h.results = map[int]bool{}
		}
		h.results[i] = true
		r := *u.Result
		r.Call, r.Name = h.call(u), h.label(u)
		outcome := event.OutcomeDone
		if r.IsError {
			outcome = event.OutcomeFailed
		}
		if err := h.Transcript.Event(h.event(&event.StepEnded{Step: event.StepTool, Outcome: outcome, Result: &r})); err != nil {
			return err
		}
	}
	return nil
}

// label is a call's display name, with its icon if the screen has symbols.
func (h *AgentCoreTranscript) label(u *agentcore.ToolUse) string {
	icon, title := u.Label()
	if h.Transcript.Look.Symbols {
		return icon + " " + title
	}
	return title
}

// call returns an id for a call, also if the stream has none.
func (h *AgentCoreTranscript) call(u *agentcore.ToolUse) string {
	if u.ID != "" {
		return u.ID
	}
	return "call" + strconv.Itoa(u.Index)
}
