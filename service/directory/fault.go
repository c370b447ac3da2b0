package directory

import (
	"strings"

	"github.com/braidrun/braid/event"
)

func invalid(op, message, hint string) error {
	return &event.Error{Op: op, Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// notFound also hides objects of other tenants.
func notFound(op, what string) error {
	return &event.Error{
		Op: op, Kind: event.ErrNotFound, Code: strings.ToUpper(what) + "_NOT_FOUND",
		Message: "there is no such " + what, Hint: "check the id",
	}
}

func taken(op, what string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: strings.ToUpper(what) + "_EXISTS",
		Message: "a " + what + " with this id exists", Hint: "choose another id, or change the existing one",
	}
}

func outrun(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "REVISION_CONFLICT",
		Message: "it was changed since it was read", Hint: "read it again and repeat the change",
	}
}

func tenantInactive(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrPermission, Code: "TENANT_INACTIVE", Message: "the tenant is not active",
		Hint: "ask the operator of this service",
	}
}

func agentInactive(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "AGENT_INACTIVE", Message: "the agent is not active",
		Hint: "choose another agent, or make it active again",
	}
}

func modelInactive(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: "MODEL_INACTIVE", Message: "the model is not active",
		Hint: "choose another model, or make it active again",
	}
}

func modelNotFound(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrModelNotFound, Code: "MODEL_NOT_FOUND", Message: "there is no such model",
		Hint: "list the models, and name one of them or an alias",
	}
}

// noKey returns the same error for every invalid credential, whatever is wrong with it.
func noKey(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnauthenticated, Message: "the credential is not valid", Hint: "send a key that has not expired or been revoked",
	}
}
