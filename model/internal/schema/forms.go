package schema

import (
	"encoding/json"
	"sync"
)

// Forms caches forms, because a new conversation sends the same tools as the one before. The zero
// value is ready for use. It is safe for concurrent use and holds at most 8 MiB.
type Forms struct {
	mu   sync.Mutex
	made map[formed]outcome
	held int
}

type formed struct {
	rules  *Rules
	schema string
}

type outcome struct {
	form     json.RawMessage
	problems []Problem
}

// These bound the cache: schemas, and bytes of schemas and forms.
const (
	mostForms = 1024
	mostHeld  = 8 << 20
)

// Form is [Form] with a cache. The result must not be changed.
func (k *Forms) Form(schema json.RawMessage, rules *Rules) (form json.RawMessage, problems []Problem) {
	k.mu.Lock()
	o, ok := k.made[formed{rules, string(schema)}]
	k.mu.Unlock()
	if ok {
		return o.form, o.problems
	}
	o.form, o.problems = Form(schema, rules)
	size := len(schema) + len(o.form) + 256
	for i := range o.problems {
		size += 128 + len(o.problems[i].Schema)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.made) >= mostForms || k.held+size > mostHeld {
		clear(k.made) // current users still hold theirs
		k.held = 0
	}
	if k.made == nil {
		k.made = make(map[formed]outcome)
	}
	if size <= mostHeld {
		k.made[formed{rules, string(schema)}] = o
		k.held += size
	}
	return o.form, o.problems
}
