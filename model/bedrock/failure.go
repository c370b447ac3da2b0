package bedrock

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/secret"
)

// failure converts any error that ended a call to ours. begun reports that the answer had begun.
func (m *Model) failure(g *idle.Guard, begun bool, req *model.Request, err error) error {
	if e, ok := errors.AsType[*event.Error](err); ok {
		return e
	}
	if g.Outer().Err() != nil {
		return provider.Ended(op, g.Outer())
	}
	if g.Stalled() {
		return &event.Error{
			Op: op, Kind: event.ErrStreamCut, Code: "stall", Err: err,
			Message: "Amazon Bedrock sent nothing for " + g.After().String(),
			Hint:    "try again; a longer time can be allowed where the model is made",
		}
	}
	if a, ok := errors.AsType[*awserr.Said](err); ok {
		return m.refusal(a, req.Attempt)
	}
	broken := func(kind event.ErrorKind, message, hint string) error {
		return &event.Error{Op: op, Kind: kind, Message: message, Hint: hint, Err: err}
	}
	switch {
	case errors.Is(err, errNoAnswer):
		return broken(event.ErrModel, "what answered is not Amazon Bedrock: its answer is none of the API's", "look at the base URL")
	case errors.Is(err, errUnreadable), errors.Is(err, awsframe.ErrUnreadable), errors.Is(err, awsframe.ErrTooLong),
		errors.Is(err, awsframe.ErrChecksum):
		return broken(event.ErrStreamCut, "Amazon Bedrock sent something that cannot be read", "try again")
	case begun:
		return broken(event.ErrStreamCut, "the model's answer broke off", "try again")
	case errors.Is(err, errNoKeys):
		return broken(event.ErrModelAuth, "there are no credentials for Amazon Bedrock, or they cannot be had",
			"set "+KeyVariable+", or look at the AWS credentials of this environment: they may have expired")
	default:
		return provider.Unreached(op, "Amazon Bedrock", m.caller.place(),
			"check the network, a proxy, and whether the region "+strconv.Quote(m.caller.region)+" has Amazon Bedrock", err)
	}
}

// refusesThinking reports whether the API refused a request because of the thinking in it.
func refusesThinking(err error) bool {
	said, ok := errors.AsType[*awserr.Said](err)
	return ok && said.Status == http.StatusBadRequest && bound.Refused(said.Message)
}

// invalidCall matches Nova's error when it could not write a call
// (nova/latest/userguide/prompting-tool-troubleshooting).
var invalidCall = lazyre.New(`(?i)invalid sequence as part of ToolUse`)

// callAttempts is the total number of attempts if the model cannot write a tool call.
const callAttempts = 2

// refusal maps the API's error.
func (m *Model) refusal(said *awserr.Said, attempt int) error {
	e := said.Failure(awserr.Asked{Op: op, Model: m.name, Region: m.caller.region, Variable: KeyVariable})
	if !invalidCall.MatchString(said.Message) {
		return e
	}
	// The same request tends to fail the same way again, so one more attempt is enough.
	line := provider.Line(said.Message, secret.Secret{})
	if attempt < callAttempts {
		e.Kind, e.Message, e.Hint = event.ErrUnavailable, provider.Tell("the model could not write a call of a tool", line), "try again"
		return e
	}
	e.Kind, e.Message = event.ErrModel, provider.Tell("the model could not write a call of a tool, twice", line)
	e.Hint = "allow a longer answer, make the tools' parameters simpler, or take another model"
	return e
}
