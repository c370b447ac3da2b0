package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
)

// mostAsked is how many questions of the program are answered at once. More are refused.
const mostAsked = 256

// control holds the requests in both directions. Either side may ask while it owes an answer.
type control struct {
	mu   sync.Mutex
	last int
	// sent are our requests without an answer, by their ids; asked are the program's.
	sent  map[string]chan controlAnswer
	asked map[string]context.CancelFunc
	// working waits for the goroutines that answer.
	working sync.WaitGroup
	ended   bool
}

type controlAnswer struct {
	Subtype  string          `json:"subtype"`
	ID       string          `json:"request_id"`
	Response json.RawMessage `json:"response"`
	Error    string          `json:"error"`
	Code     string          `json:"error_code"`
}

// Control sends a control request and returns the answer. fields are added to the request. The error is a [ControlError]
// for a refusal. Most requests have a method of their own.
func (c *Client) Control(ctx context.Context, subtype string, fields map[string]any) (json.RawMessage, error) {
	return c.request(ctx, subtype, fields, c.config.process.asking)
}

func (c *Client) request(ctx context.Context, subtype string, fields map[string]any, patience time.Duration) (json.RawMessage, error) {
	request := map[string]any{}
	maps.Copy(request, fields)
	request["subtype"] = subtype
	ctx, cancel := context.WithTimeoutCause(ctx, patience, &event.Error{
		Op: op, Kind: event.ErrTimeout, Message: fmt.Sprintf("the program did not answer the request %q in time", subtype),
		Hint: "Close the client and open a new one.",
	})
	defer cancel()
	id, answer, err := c.control.open()
	if err != nil {
		return nil, err
	}
	defer c.control.forget(id)
	if err := c.write(ctx, map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
		return nil, err
	}
	select {
	case a, ok := <-answer:
		switch {
		case !ok:
			return nil, c.endError()
		case a.Subtype != "success":
			return nil, &ControlError{Subtype: subtype, Message: a.Error, Code: a.Code}
		}
		return a.Response, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *control) open() (id string, answer chan controlAnswer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return "", nil, ErrClosed
	}
	c.last++
	id, answer = "braid-"+strconv.Itoa(c.last), make(chan controlAnswer, 1)
	c.sent[id] = answer
	return id, answer, nil
}

func (c *control) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sent, id)
}

// answered takes in an answer of the program. One that nobody waits for any more is dropped.
func (c *control) answered(line []byte) error {
	var r struct {
		Response controlAnswer `json:"response"`
	}
	if err := lenient(json.Unmarshal(line, &r)); err != nil {
		return &LineError{Start: shorten(line)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.sent[r.Response.ID]; ok {
		delete(c.sent, r.Response.ID)
		answer <- r.Response
	}
	return nil
}

// cancelled takes in that the program no longer wants an answer.
func (c *control) cancelled(line []byte) {
	var r struct {
		ID string `json:"request_id"`
	}
	_ = json.Unmarshal(line, &r) // an unknown id cancels nothing
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.asked[r.ID]; cancel != nil {
		cancel()
	}
}

// end fails what waits for an answer, cancels what answers, and waits for that.
func (c *control) end() {
	c.mu.Lock()
	c.ended = true
	for id, answer := range c.sent {
		close(answer)
		delete(c.sent, id)
	}
	for _, cancel := range c.asked {
		cancel()
	}
	c.mu.Unlock()
	c.working.Wait()
}

// asked answers a request of the program on a goroutine of its own.
func (c *Client) asked(line []byte) error {
	var r struct {
		ID      string          `json:"request_id"`
		Request json.RawMessage `json:"request"`
	}
	if err := lenient(json.Unmarshal(line, &r)); err != nil {
		return &LineError{Start: shorten(line)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.control.mu.Lock()
	full := len(c.control.asked) >= mostAsked
	if !full && !c.control.ended {
		c.control.asked[r.ID] = cancel
		c.control.working.Add(1)
	}
	ended := c.control.ended
	c.control.mu.Unlock()
	if ended || full {
		cancel()
		if full {
			go func() { c.answer(r.ID, nil, errors.New("the host answers too many requests already")) }()
		}
		return nil
	}
	go func() {
		defer c.control.working.Done()
		defer cancel()
		response, err := c.config.serve(ctx, r.Request)
		c.control.mu.Lock()
		delete(c.control.asked, r.ID)
		c.control.mu.Unlock()
		c.answer(r.ID, response, err)
	}()
	return nil
}

// answer sends an answer to the program. A program that has ended needs none.
func (c *Client) answer(id string, response any, err error) {
	answer := map[string]any{"subtype": "success", "request_id": id, "response": response}
	if err != nil {
		answer = map[string]any{"subtype": "error", "request_id": id, "error": err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.config.process.asking)
	defer cancel()
	_ = c.write(ctx, map[string]any{"type": "control_response", "response": answer})
}

// serve answers a request of the program.
func (c *config) serve(ctx context.Context, request json.RawMessage) (any, error) {
	var r struct {
		Subtype string          `json:"subtype"`
		Server  string          `json:"server_name"`
		Message json.RawMessage `json:"message"`
	}
	if err := lenient(json.Unmarshal(request, &r)); err != nil {
		return nil, errors.New("the request cannot be read")
	}
	switch {
	case r.Subtype == "can_use_tool" && c.permissions.ask != nil:
		return c.answerPermission(ctx, request)
	case r.Subtype == "hook_callback":
		return c.answerHook(ctx, request)
	case r.Subtype == "mcp_message" && c.tools.own[r.Server] != nil:
		return map[string]any{"mcp_response": c.tools.own[r.Server].answer(ctx, r.Server, r.Message)}, nil
	case r.Subtype == "elicitation" && c.tools.elicit != nil:
		return c.answerElicitation(ctx, request)
	case r.Subtype == "elicitation":
		return ElicitationAnswer{Action: "decline"}, nil
	case r.Subtype == "request_user_dialog" && c.tools.dialog != nil:
		return c.answerDialog(ctx, request)
	}
	return nil, fmt.Errorf("this host does not answer requests of type %q", r.Subtype)
}

func (c *config) answerElicitation(ctx context.Context, request json.RawMessage) (answer any, err error) {
	var e Elicitation
	if err := lenient(json.Unmarshal(request, &e)); err != nil {
		return nil, err
	}
	err = guarded("the elicitation function", func() (err error) {
		answer, err = c.tools.elicit(ctx, &e)
		return err
	})
	return answer, err
}

func (c *config) answerDialog(ctx context.Context, request json.RawMessage) (answer any, err error) {
	var d Dialog
	if err := lenient(json.Unmarshal(request, &d)); err != nil {
		return nil, err
	}
	err = guarded("the dialog function", func() (err error) {
		answer, err = c.tools.dialog(ctx, &d)
		return err
	})
	return answer, err
}
