package braid

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

// CheckAnswer holds an answer against its question, as [Conversation.Answer] does: for a program
// that wants to tell before it answers. The error is of the kind [event.ErrInvalid].
func CheckAnswer(q *event.Asked, value any) error {
	raw, err := answerJSON(value)
	if err != nil {
		return err
	}
	return acceptable(context.Background(), q, raw)
}

// answerJSON writes an answer as it is kept.
func answerJSON(value any) (json.RawMessage, error) { return userdata.JSON("answer", "answer", value) }

// acceptable holds an answer against its question, so that who gives one that does not fit
// is told, and not the tool that asked. Null answers every question.
func acceptable(ctx context.Context, q *event.Asked, value json.RawMessage) error {
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
		return unfitAnswer("the answer does not keep to the question's schema", "look at the question's schema and answer again", err)
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

func unfitAnswer(message, hint string, err error) error {
	return &event.Error{Op: "answer", Kind: event.ErrInvalid, Code: codeUnfit, Message: message, Hint: hint, Err: err}
}
