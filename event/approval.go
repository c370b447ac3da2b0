package event

import (
	"bytes"
	"encoding/json"
)

// Approval is the answer to a question of kind [AskApproval]. In JSON a plain
// yes or no is true or false, so that a tool may ask for a bool; everything
// else is an object. It is one form for what ADK calls a tool confirmation
// and the Claude program a permission, so that an answer given on one wire
// fits a question asked by any engine.
type Approval struct {
	// Approved lets the call run.
	Approved bool `json:"approved"`
	// Args replaces the arguments of a call that is approved; nil keeps them.
	Args json.RawMessage `json:"args,omitempty"`
	// Reason is what the model is told about a call that is refused.
	Reason string `json:"reason,omitempty"`
	// Stop ends the run beside refusing the call.
	Stop bool `json:"stop,omitempty"`
	// Payload is what the person's program adds for the tool.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Lasts is how long an approval holds for the tool with the same arguments, empty for
	// once, and AnyArgs makes it hold for whatever arguments.
	Lasts   Lasting `json:"lasts,omitempty"`
	AnyArgs bool    `json:"any_args,omitempty"`
}

// Lasting says how long an approval holds.
type Lasting string

// How long an approval holds: for the call that was asked for, in the conversation, or always.
const (
	LastsOnce         Lasting = "once"
	LastsConversation Lasting = "conversation"
	LastsAlways       Lasting = "always"
)

// approvalObject is Approval without its methods.
type approvalObject Approval

// MarshalJSON writes true or false where nothing else is said.
func (a Approval) MarshalJSON() ([]byte, error) {
	if a.Args == nil && a.Reason == "" && !a.Stop && a.Payload == nil && a.Lasts == "" && !a.AnyArgs {
		return json.Marshal(a.Approved)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // arguments go through as they are
	if err := enc.Encode(approvalObject(a)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// UnmarshalJSON reads true, false or the object.
func (a *Approval) UnmarshalJSON(data []byte) error {
	var yes bool
	if json.Unmarshal(data, &yes) == nil && string(data) != "null" {
		*a = Approval{Approved: yes}
		return nil
	}
	var o approvalObject
	if string(data) == "null" || json.Unmarshal(data, &o) != nil {
		return &Error{
			Op: "answer", Kind: ErrInvalid,
			Message: "the answer to an approval is not true, false or an approval object",
			Hint:    `answer true, false or {"approved": true}`,
		}
	}
	*a = Approval(o)
	return nil
}
