package directory

import (
	"errors"

	"github.com/braidrun/braid/event"
)

// References checks what entries refer to outside of the directory. An error is told to the caller with the code
// REFERENCE_UNKNOWN. A nil function checks nothing.
type References struct {
	// Model checks the provider, the region and the variable of a model.
	Model func(m *Model) error
	// Agent checks the skills and the patterns of tools of an agent.
	Agent func(a *AgentSpec) error
}

func (r *References) model(op string, m, old *Model) error {
	same := m.Provider == old.Provider && m.Name == old.Name && m.Region == old.Region && m.Credential.Env == old.Credential.Env
	if r.Model == nil || same {
		return nil
	}
	return unknownReference(op, r.Model(m))
}

func (r *References) agent(op string, a *AgentSpec) error {
	if r.Agent == nil {
		return nil
	}
	return unknownReference(op, r.Agent(a))
}

func unknownReference(op string, err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Op, told.Kind, told.Code = op, event.ErrInvalid, "REFERENCE_UNKNOWN"
	return &told
}
