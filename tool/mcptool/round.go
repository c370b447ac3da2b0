package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// mostRounds bounds how often a request is sent because its server wants more each time, and mostBusy how often because it wants
// nothing but time.
const (
	mostRounds = 10
	mostBusy   = 3
)

// round is what a request carries beside its own parameters. The specification of 2026-07-28 has servers answer with what
// they want to know; the request is then sent again with the answers.
type round struct {
	meta      mcp.Meta
	responses mcp.InputResponseMap
	state     string
	// asked counts the questions to the user.
	asked int
	// busy counts the answers that only say to try again.
	busy int
}

// wanted is what a server wants before it carries a request out.
type wanted struct {
	requests map[string]wantedInput
	state    string
}

type wantedInput struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// errInput is a result that asks for something where nobody can be asked.
var errInput = errors.New("the server asks for input")

// wireWanted is a result that asks for something.
//
//nolint:tagliatelle // the protocol's names
type wireWanted struct {
	Type     string                 `json:"resultType"`
	Requests map[string]wantedInput `json:"inputRequests"`
	State    string                 `json:"requestState"`
}

// wantedIn reads what a result asks for; nil if it asks for nothing.
func wantedIn(raw json.RawMessage) (*wanted, error) {
	var w wireWanted
	if err := json.Unmarshal(raw, &w); err != nil || w.Type != "input_required" {
		return nil, nil //nolint:nilerr,nilnil // whoever reads the result says so
	}
	if len(w.Requests) > mostQuestions {
		return nil, fmt.Errorf("it asks %d questions at once", len(w.Requests))
	}
	return &wanted{w.Requests, w.State}, nil
}

// wantedVisits reads the error of the specification of 2025-11-25 that has the user visit addresses first; nil for others.
func wantedVisits(e *jsonrpc.Error) *wanted {
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if e == nil || e.Code != mcp.CodeURLElicitationRequired || json.Unmarshal(e.Data, &data) != nil ||
		len(data.Elicitations) == 0 || len(data.Elicitations) > mostQuestions {
		return nil
	}
	w := &wanted{requests: make(map[string]wantedInput, len(data.Elicitations))}
	for i, one := range data.Elicitations {
		w.requests[fmt.Sprintf("%02d", i)] = wantedInput{methodElicit, one}
	}
	return w
}

// These are the requests of servers.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
)

// codeRejected is the protocol's code for sampling that the user of the client rejects.
const codeRejected = -1

// refusedSampling is what a server is told that wants to use a model of its client.
const refusedSampling = "sampling is refused: this client lets no server use its models"

// answer has the user answer what a server wants, and puts the answers into the next round. Questions that are not answered
// are all asked before it returns [tool.ErrWaits].
func (s *server) answer(ctx context.Context, r *round, w *wanted) error {
	r.responses, r.state = make(mcp.InputResponseMap, len(w.requests)), w.state
	if len(w.requests) == 0 { // it is busy, and wants the same request again
		if r.busy++; r.state == "" || r.busy > mostBusy {
			return s.refusedQuestion(errInput)
		}
	}
	waits := false
	for _, id := range slices.Sorted(maps.Keys(w.requests)) {
		one := w.requests[id]
		if one.Method != methodElicit {
			what := "asks for something that this client does not offer"
			if one.Method == methodSample {
				what = "wants to use the client's model, which is refused"
			}
			return fault(s.config.Name, event.ErrUnsupported, what, "do without this tool", errInput)
		}
		var p mcp.ElicitParams
		if err := json.Unmarshal(one.Params, &p); err != nil {
			return fault(s.config.Name, event.ErrInvalid, "asks a question that cannot be read", "look at its log", s.quiet(err))
		}
		r.asked++
		reply, err := s.reply(ctx, r.asked, &p)
		switch {
		case errors.Is(err, tool.ErrWaits):
			waits = true
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return s.refusedQuestion(err)
		default:
			r.responses[id] = reply
		}
	}
	if waits {
		return tool.ErrWaits
	}
	return nil
}

// refusedQuestion is the error of a call whose server asked what nobody is asked.
func (s *server) refusedQuestion(err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fault(s.config.Name, event.ErrInvalid, "asks a question that is refused: "+e.Message, "do without this tool", err)
	}
	return fault(s.config.Name, event.ErrUnsupported, "asks a person for input, and nobody can be asked here",
		"call it with all that it needs, or do without", errors.Join(errInput, err))
}

// reply returns the answer to a question of the server for the call of ctx.
func (s *server) reply(ctx context.Context, n int, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if l := openCallOf(ctx); l != nil {
		return l.ask(ctx, p)
	}
	if s.asksUsers(ctx) {
		return s.askUser(ctx, n, p)
	}
	return nil, errInput
}
