package mcptool

import (
	"encoding/json"
	"errors"
)

// errDoubled is an answer whose members are there twice: which of them counts would depend on who reads it.
var errDoubled = errors.New("the answer has a member twice")

// doubled reports whether a message of a server has a member twice that says what it is.
func doubled(raw []byte) bool {
	list, err := members(raw)
	if err != nil {
		return false // the SDK says so
	}
	seen := map[string]bool{}
	for _, m := range list {
		switch m.key {
		case "id", "method", "params", "result", "error":
			if seen[m.key] {
				return true
			}
			seen[m.key] = true
		}
	}
	return seen["result"] && seen["error"]
}

// refusal is an error in the place of a doubled message, for the request that it answers.
func refusal(raw []byte) json.RawMessage {
	id := json.RawMessage("null")
	if list, err := members(raw); err == nil {
		for _, m := range list {
			if m.key == "id" {
				id = m.value
				break
			}
		}
	}
	out, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32600, "message": errDoubled.Error()},
	})
	if err != nil {
		return raw
	}
	return out
}
