package mcpauth

import (
	"context"
	"sync"

	"github.com/braidrun/braid/event"
)

// Store keeps entries by key. All methods are safe for concurrent use.
type Store interface {
	// Load returns the entry of a key and its version. An entry that is not there is empty and has the version 0.
	Load(ctx context.Context, key string) (e *Entry, version int64, err error)
	// Save stores an entry in the place of a version that was loaded, with a version of its own. It returns
	// [event.ErrConflict] and stores nothing if the entry has another version now.
	Save(ctx context.Context, key string, e *Entry, version int64) error
}

// conflict is the error of a Save that another one was quicker than.
func conflict() error {
	return &event.Error{Op: "mcp sign-in", Kind: event.ErrConflict, Message: "the grant has just been changed", Hint: "try again"}
}

// Memory returns a store that ends with the process.
func Memory() Store { return &memory{entries: map[string]kept{}} }

type memory struct {
	mu      sync.Mutex
	entries map[string]kept
}

// kept is an entry as it is stored.
type kept struct {
	version int64
	data    []byte
}

func (m *memory) Load(_ context.Context, key string) (*Entry, int64, error) {
	m.mu.Lock()
	k := m.entries[key]
	m.mu.Unlock()
	if k.version == 0 {
		return &Entry{}, 0, nil
	}
	e, err := Decode(k.data)
	return e, k.version, err
}

func (m *memory) Save(_ context.Context, key string, e *Entry, version int64) error {
	data, err := e.Encode()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key].version != version {
		return conflict()
	}
	m.entries[key] = kept{version + 1, data}
	return nil
}
