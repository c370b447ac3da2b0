// Package answercheck checks answers against their questions.
package answercheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/schemacheck"
	"github.com/braidrun/braid/internal/userdata"
	"github.com/braidrun/braid/tool"
)

// CheckValue checks a value as [Check] does after [JSON]. It is for a program that checks before it answers.
func CheckValue(q *event.Asked, value any) error {
	raw, err := JSON(value)
	if err != nil {
		return err
	}
	return Check(context.Background(), q, raw)
}

// JSON returns an answer as the log keeps it.
func JSON(value any) (json.RawMessage, error) { return userdata.JSON("answer", "answer", value) }

// Check returns an error of the kind [event.ErrInvalid] if an answer does not fit its question. The user who answers is
// told then, and not the tool that asked. Null answers every question.
func Check(ctx context.Context, q *event.Asked, value json.RawMessage) error {
	schema := q.Schema
	if q.Name == event.PermissionQuestion && len(schema) == 0 {
		schema = permissionSchema
	}
	if q.Ask == event.AskApproval && (len(schema) == 0 || len(value) > 0 && value[0] == '{' && plainYesNo(schema)) {
		schema = tool.ApprovalSchema() // a question for a bool also accepts the long form
	}
	if len(schema) == 0 || string(value) == "null" {
		return nil
	}
	s, err := schemacheck.Compile(schema)
	if err != nil {
		return nil //nolint:nilerr // the tool asked with a schema that cannot be used: it checks the answer itself
	}
	err = s.Check(ctx.Done(), value)
	_, misfit := errors.AsType[*schemacheck.Misfit](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, schemacheck.ErrStopped):
		return ctx.Err()
	case misfit, errors.Is(err, schemacheck.ErrBudget):
		return unfit("the answer does not keep to the question's schema", "look at the question's schema and answer again", err)
	default:
		return userdata.Unfit("answer", err)
	}
}

// plainYesNo reports whether a schema takes true and false and nothing else but null.
func plainYesNo(schema json.RawMessage) bool {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	t := bytes.TrimSpace(s.Type)
	return string(t) == `"boolean"` || string(t) == `["null","boolean"]` || string(t) == `["boolean","null"]`
}

// codeUnfit is the word that wires have for an answer that does not fit its question.
const codeUnfit = "ANSWER_INVALID"

func unfit(message, hint string, err error) error {
	return &event.Error{Op: "answer", Kind: event.ErrInvalid, Code: codeUnfit, Message: message, Hint: hint, Err: err}
}

// PermissionSchema returns the schema of the answer to an [event.PermissionQuestion]. It is read only.
func PermissionSchema() json.RawMessage { return permissionSchema }

// permissionSchema is a plain yes or no, a yes that lasts, a yes to other arguments, or a no with its reason.
var permissionSchema = json.RawMessage(`{"anyOf":[{"type":"boolean"},` +
	`{"type":"object","properties":{"approved":{"const":true},` +
	`"lasts":{"enum":["once","conversation","always"],"description":"how long it holds for this tool; once where it is missing"},` +
	`"any_args":{"type":"boolean","description":"let it hold for whatever arguments, and not for these alone"},` +
	`"payload":{"description":"anything for the tool"}},"required":["approved"],"additionalProperties":false},` +
	`{"type":"object","properties":{"approved":{"const":true},` +
	`"args":{"type":"object","description":"arguments to call it with instead, this once"},"lasts":{"const":"once"},` +
	`"payload":{}},"required":["approved","args"],"additionalProperties":false},` +
	`{"type":"object","properties":{"approved":{"const":false},"reason":{"type":"string","description":"what the model is told"},` +
	`"stop":{"type":"boolean","description":"end the run beside refusing the call"},"payload":{}},` +
	`"required":["approved"],"additionalProperties":false}]}`)
