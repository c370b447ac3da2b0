package directory

import (
	"errors"
	"reflect"

	"github.com/braidrun/braid/event"
)

// References checks references of entries to things outside the directory. Callers get an error
// with the code REFERENCE_UNKNOWN. A nil function checks nothing.
//
// References inside the directory are always checked: a reference that a write adds or changes must
// name an existing agent or model. Unchanged references are not checked again.
type References struct {
	// Model checks the provider, the region, the variable and the settings of a model. An error of
	// kind [event.ErrUnsupported] is passed on unchanged.
	Model func(m *Model) error
	// Agent checks the patterns of tools of an agent.
	Agent func(a *AgentSpec) error
	// Skills are the names of the server's own skills. Agents may name them beside their tenant's.
	Skills []string
	// MCPServer checks the address and the document of an MCP server, or its program. document is nil
	// if the stored one stays. Its errors are passed on unchanged.
	MCPServer func(s *MCPServer, document []byte) error
	// Webhook checks whether the address of a webhook may be reached. Its errors are passed on
	// unchanged.
	Webhook func(w *Webhook) error
	// Name checks a model name of the tenant [DefaultTenant] that the directory does not have. A
	// server without settings allows such names.
	Name func(name string) error
}

func (r *References) model(op string, m, old *Model) error {
	same := m.Provider == old.Provider && m.Name == old.Name && m.Region == old.Region && m.Credential.Env == old.Credential.Env &&
		reflect.DeepEqual(m.Settings, old.Settings)
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
	if !ok || e.Kind == event.ErrUnsupported { // a setting that the model does not support
		return err
	}
	told := *e
	told.Op, told.Kind, told.Code = op, event.ErrInvalid, "REFERENCE_UNKNOWN"
	return &told
}

func (r *References) webhook(w *Webhook) error {
	if r.Webhook == nil {
		return nil
	}
	return r.Webhook(w)
}
