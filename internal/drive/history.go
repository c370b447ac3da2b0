package drive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/strictjson"
)

// FitHistory checks messages that a program or a hook hands in, so that what a request shows to a model pairs every
// call with its result. It repairs what other frameworks and interrupted programs leave behind, and reports each repair:
//
//   - A call without a result gets one that says that the call was interrupted.
//   - A result without its call, a call in a user's message, and a message without content are left out.
//   - Results that come late move into the message after their call. Answers between a call and its result are joined.
//   - Calls that share an id get ids of their own.
//
// It refuses what it cannot repair: an unknown role, and blocks that no log can keep. It
// returns the given slice if there is nothing to repair, and never changes it or its messages.
func FitHistory(given []event.Message) (fit []event.Message, repairs []string, err error) {
	if err = checkHistory(given); err != nil {
		return nil, nil, err
	}
	if isWhole(given) {
		return given, nil, nil
	}
	h := historyRepair{}
	h.repair(given)
	return h.out, h.repairs, nil
}

// goOn stands behind a history that ends with an answer. Many providers refuse a request whose last message is the
// model's, new Claude models among them, and others would answer nobody.
const goOn = "[Go on from the end of the message above.]"

// fitInput repairs a run's input. What cannot be repaired was refused before the run was admitted.
func fitInput(input []event.Message) (fit []event.Message, repairs []string) {
	fit, repairs, err := fitRun(input, endsWithCalls(input))
	if err != nil {
		return input, repairs
	}
	return fit, repairs
}

// fitHooked repairs what hooks made of an input. It returns an error for what cannot be repaired.
func (d *activeRun) fitHooked(input, in []event.Message) ([]event.Message, error) {
	fit, repairs, err := fitRun(in, endsWithCalls(input) && endsWithCalls(in))
	if err == nil && len(fit) == 0 && len(in) > 0 {
		err = unfit(0, "has nothing in it that a user can send", nil)
	}
	if err != nil {
		return nil, byHook("an input", err)
	}
	d.repairs = append(d.repairs, repairs...)
	return fit, nil
}

// fitRequest makes the messages of a request that hooks have changed keep the promise of [model.Request].
func (d *activeRun) fitRequest(w *Work) error {
	own := w.scope.Transcript.Messages
	if slices.EqualFunc(w.request.Messages, own, sameMessage) {
		return nil
	}
	fit, repairs, err := FitHistory(w.request.Messages)
	switch {
	case err != nil:
		return byHook("a request", err)
	case len(fit) == 0:
		return &event.Error{Op: "hook", Kind: event.ErrInvalid, Message: "a hook made a request without messages"}
	}
	w.request.Messages = fold.Alternate(fit)
	if len(repairs) > 0 {
		d.add(w.scope, "", 0, RepairNotice(repairs))
	}
	return nil
}

// sameMessage reports whether two messages share their content.
func sameMessage(a, b event.Message) bool {
	return a.Role == b.Role && len(a.Content) == len(b.Content) && (len(a.Content) == 0 || &a.Content[0] == &b.Content[0])
}

// byHook says that a hook handed in what cannot be repaired.
func byHook(what string, err error) error {
	e := event.Error{Kind: event.ErrInvalid, Err: err}
	if cause, ok := errors.AsType[*event.Error](err); ok {
		e = *cause
	}
	_, problem, _ := strings.Cut(e.Message, ": ")
	e.Op, e.Message = "hook", "a hook made "+what+" that no model accepts: "+problem
	return &e
}

// fitRun is [FitHistory] for the input of a run, which ends with a user's message. direct says that it ends with calls of
// the program's own, which run.
func fitRun(in []event.Message, direct bool) (fit []event.Message, repairs []string, err error) {
	n := len(in)
	if direct {
		n--
	}
	fit, repairs, err = FitHistory(in[:n])
	if direct && err == nil {
		if err = checkHistory(in[n:]); err == nil {
			fit = append(slices.Clip(fit), in[n])
		}
		return fit, repairs, err
	}
	if last := len(fit) - 1; err == nil && last >= 0 && fit[last].Role == event.RoleAssistant {
		fit = append(slices.Clip(fit), event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: goOn}}})
		repairs = append(repairs, "message "+strconv.Itoa(len(in)-1)+": a request to go on follows, because the history ends with an answer")
	}
	return fit, repairs, err
}

func endsWithCalls(in []event.Message) bool {
	return len(in) > 0 && in[len(in)-1].Role == event.RoleAssistant && fold.CountCalls(in[len(in)-1].Content) > 0
}

// mostRepairs bounds the lines of a notice.
const mostRepairs = 20

// RepairNotice returns the event that reports repairs of a history.
func RepairNotice(repairs []string) *event.Notice {
	lines := repairs
	if n := len(lines); n > mostRepairs {
		lines = append(slices.Clone(lines[:mostRepairs]), "and "+strconv.Itoa(n-mostRepairs)+" more")
	}
	return &event.Notice{Code: event.NoticeRepaired, Text: strings.Join(lines, "\n")}
}

// historyRepair is the repair of one history.
type historyRepair struct {
	out     []event.Message
	repairs []string
	// made counts the ids that the repair has made.
	made int
}

// isWhole reports whether a history needs no repair: the results stand first in the message after their calls, in the
// order of the calls. It allocates nothing for a history without calls.
func isWhole(in []event.Message) bool {
	var open []*event.ToolCall
	for _, m := range in {
		if len(m.Content) == 0 || hasBlank(m) || len(m.Content) < len(open) {
			return false
		}
		for i, b := range m.Content {
			r, ok := b.(*event.ToolResult)
			if _, calls := b.(*event.ToolCall); calls && m.Role == event.RoleUser {
				return false
			}
			if ok != (i < len(open)) || ok && (m.Role != event.RoleUser || r.Call != open[i].ID) {
				return false
			}
		}
		open = nil
		if m.Role == event.RoleAssistant {
			open = m.Calls()
		}
		for i, c := range open {
			if c.ID == "" || slices.ContainsFunc(open[:i], func(o *event.ToolCall) bool { return o.ID == c.ID }) {
				return false
			}
		}
	}
	return len(open) == 0
}

// checkHistory refuses what cannot be repaired.
func checkHistory(in []event.Message) error {
	for i, m := range in {
		if m.Role != event.RoleUser && m.Role != event.RoleAssistant {
			return unfit(i, "has the role "+strconv.Quote(string(m.Role)), nil)
		}
		for _, b := range m.Content {
			if err := fitBlock(i, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// fitBlock refuses a block that no message can hold.
func fitBlock(i int, b event.Block) error {
	if foreign.HasNil([]event.Block{b}) {
		return unfit(i, "holds a block that is nil", nil)
	}
	switch b := b.(type) {
	case *event.Text:
		if !utf8.ValidString(b.Text) {
			return unfit(i, "is not valid UTF-8", nil)
		}
		return nil
	case *event.Image, *event.Document, *event.Media:
		return nil
	case *event.ToolCall:
		if b.Args != nil {
			if err := strictjson.Check(b.Args, strictjson.DefaultDepth); err != nil {
				return unfit(i, "has a call whose arguments are no usable JSON", err)
			}
		}
	case *event.ToolResult:
		if slices.ContainsFunc(b.Content, isTool) {
			return unfit(i, "has a result with a tool call or a tool result in it", nil)
		}
	}
	if _, err := event.AppendBlock(nil, b); err != nil {
		return unfit(i, "has a block that cannot be kept", err)
	}
	return nil
}

// isTool reports whether a block belongs into a message only by itself.
func isTool(b event.Block) bool {
	switch b.(type) {
	case *event.ToolCall, *event.ToolResult:
		return true
	default:
		return false
	}
}

func isBlank(b event.Block) bool {
	t, ok := b.(*event.Text)
	return ok && t.Signature == "" && utf8.ValidString(t.Text) && strings.TrimSpace(t.Text) == ""
}

func hasBlank(m event.Message) bool { return slices.ContainsFunc(m.Content, isBlank) }

func unfit(message int, what string, err error) error {
	return &event.Error{
		Op: "run", Kind: event.ErrInvalid, Message: "the messages cannot be an input: message " + strconv.Itoa(message) + " " + what,
		Hint: "end with a user's message, and put each tool result into the message after its call", Err: err,
	}
}

// note reports a repair of a given message.
func (h *historyRepair) note(message int, format string, args ...any) {
	h.repairs = append(h.repairs, "message "+strconv.Itoa(message)+": "+fmt.Sprintf(format, args...))
}

// repair writes the repaired history. It takes the messages in groups: answers that belong together, and the user's
// messages that follow them.
func (h *historyRepair) repair(in []event.Message) {
	for i := 0; i < len(in); {
		if in[i].Role == event.RoleUser {
			i = h.users(in, i, nil)
			continue
		}
		answer := withoutBlanks(in[i].Content)
		next := i + 1
		for ; len(answer.Calls()) > 0 && next < len(in) && in[next].Role == event.RoleAssistant && answersLate(in[next:], answer.Calls()); next++ {
			h.note(next, "joined with the answer before it, whose results come later")
			answer.Content = append(answer.Content, withoutBlanks(in[next].Content).Content...)
		}
		answer.Content = h.withoutResults(i, answer.Content)
		if len(answer.Content) == 0 {
			h.note(i, "left out, because it is empty")
			i = next
			continue
		}
		answer.Role = event.RoleAssistant
		calls := h.identified(i, &answer)
		h.out = append(h.out, answer)
		i = h.users(in, next, calls)
	}
}

// answersLate reports whether a result for one of the calls follows the answers with which the messages begin, before
// the next answer.
func answersLate(in []event.Message, calls []*event.ToolCall) bool {
	n := slices.IndexFunc(in, func(m event.Message) bool { return m.Role == event.RoleUser })
	for ; n >= 0 && n < len(in) && in[n].Role == event.RoleUser; n++ {
		for _, b := range in[n].Content {
			if r, ok := b.(*event.ToolResult); ok && slices.ContainsFunc(calls, func(c *event.ToolCall) bool { return c.ID == r.Call }) {
				return true
			}
		}
	}
	return false
}

// wanted is a call that waits for its result.
type wanted struct {
	*event.ToolCall
	// was is the id that the result has, if the call got another one.
	was    string
	result *event.ToolResult
}

// identified returns the calls of an answer. It gives ids to those that have none or share one.
func (h *historyRepair) identified(i int, m *event.Message) (calls []wanted) {
	taken := func(id string) bool {
		return id == "" || slices.ContainsFunc(calls, func(w wanted) bool { return w.ID == id })
	}
	for at, b := range m.Content {
		c, ok := b.(*event.ToolCall)
		if !ok {
			continue
		}
		w := wanted{ToolCall: c, was: c.ID}
		if taken(c.ID) {
			own := *c
			for taken(own.ID) {
				h.made++
				own.ID = "call_" + strconv.Itoa(h.made)
			}
			h.note(i, "the call %q of %q got the id %q, because another call has its id", c.ID, c.Name, own.ID)
			w.ToolCall, m.Content[at] = &own, &own
		}
		calls = append(calls, w)
	}
	return calls
}

// users writes the user's messages from i on, with the results of the calls first. It returns the message after them.
func (h *historyRepair) users(in []event.Message, i int, calls []wanted) int {
	begin := len(h.out)
	if len(calls) > 0 {
		h.out = append(h.out, event.Message{Role: event.RoleUser})
	}
	first := i
	for ; i < len(in) && in[i].Role == event.RoleUser; i++ {
		m := event.Message{Role: event.RoleUser}
		left := 0
		for _, b := range withoutBlanks(in[i].Content).Content {
			if c, ok := b.(*event.ToolCall); ok {
				h.note(i, "the call %q of %q is left out, because it stands in a user's message", c.ID, c.Name)
				left++
				continue
			}
			r, ok := b.(*event.ToolResult)
			if !ok {
				m.Content = append(m.Content, b)
				continue
			}
			left++
			switch w := waiting(calls, r); {
			case w == nil:
				h.note(i, "the result of %q is left out, because the answer before it does not call it", r.Call)
			case i > first:
				h.note(i, "the result of %q moved into the message after its call", r.Call)
				fallthrough
			default:
				w.settle(r)
			}
		}
		switch {
		case i == first && len(calls) > 0:
			h.out[begin].Content = m.Content
		case len(m.Content) > 0:
			h.out = append(h.out, m)
		case left == 0:
			h.note(i, "left out, because it is empty")
		}
	}
	if len(calls) > 0 {
		h.out[begin].Content = append(h.resultsOf(first-1, calls), h.out[begin].Content...)
	}
	return i
}

// waiting returns the first call without a result that the result can be for; nil for none.
func waiting(calls []wanted, r *event.ToolResult) *wanted {
	i := slices.IndexFunc(calls, func(w wanted) bool { return w.was == r.Call && w.result == nil })
	if i < 0 {
		return nil
	}
	return &calls[i]
}

func (w *wanted) settle(r *event.ToolResult) {
	if w.result = r; r.Call != w.ID {
		own := *r
		own.Call, w.result = w.ID, &own
	}
}

// resultsOf returns a result for each call.
func (h *historyRepair) resultsOf(i int, calls []wanted) (results []event.Block) {
	for _, w := range calls {
		if w.result == nil {
			h.note(i, "the call %q of %q has no result, and got one that says so", w.ID, w.Name)
			w.result = fold.Interrupted(w.ToolCall)
		}
		results = append(results, w.result)
	}
	return results
}

// withoutResults leaves results out of an answer.
func (h *historyRepair) withoutResults(i int, content []event.Block) []event.Block {
	return slices.DeleteFunc(content, func(b event.Block) bool {
		r, ok := b.(*event.ToolResult)
		if ok {
			h.note(i, "the result of %q is left out, because it stands in an answer", r.Call)
		}
		return ok
	})
}

// withoutBlanks copies content without blocks of blank text, which providers refuse.
func withoutBlanks(content []event.Block) event.Message {
	return event.Message{Content: slices.DeleteFunc(slices.Clone(content), isBlank)}
}
