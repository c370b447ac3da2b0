package sqlite

import (
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/event"
)

// Conversations share the state of the tenant and the user. The conversation's own state is also stored, so that no
// reader needs the log from its beginning.
const (
	appOwner   = "app"
	appPrefix  = "app:"
	userPrefix = "user:"
)

func userOwner(user string) string                 { return "user/" + user }
func conversationOwner(conversation string) string { return "conversation/" + conversation }

// owner returns the owner of a key.
func (f *fence) owner(key string) string {
	switch {
	case strings.HasPrefix(key, appPrefix):
		return appOwner
	case strings.HasPrefix(key, userPrefix):
		return userOwner(f.user)
	default:
		return conversationOwner(f.id)
	}
}

const (
	setState = `INSERT INTO state (tenant, owner, name, value) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (tenant, owner, name) DO UPDATE SET value = ?4`

	deleteState = `DELETE FROM state WHERE tenant = ? AND owner = ? AND name = ?`
)

// share merges a change into the state.
func (f *fence) share(x *tx, change *event.StateChanged) error {
	x.w.shares.Store(true)
	for key, value := range change.Set {
		if value == nil {
			value = json.RawMessage("null")
		}
		if _, err := x.exec(setState, f.tenant, f.owner(key), key, []byte(value)); err != nil {
			return err
		}
	}
	for _, key := range change.Delete {
		if _, err := x.exec(deleteState, f.tenant, f.owner(key), key); err != nil {
			return err
		}
	}
	return nil
}

// readState reads rows of name and value; nil for none.
func readState(rows *sql.Rows, err error) (map[string]json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var state map[string]json.RawMessage
	for rows.Next() {
		var name string
		var value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if state == nil {
			state = make(map[string]json.RawMessage)
		}
		state[name] = value
	}
	return state, rows.Err()
}
