package bedrock

import (
	"net/http"
	"time"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// Model is a [model.Model]. It caches the encodings of recent conversations, at most 64 MiB, so
// callers must not change a block after it was sent; the loop never does. A Model is safe for
// concurrent use.
type Model struct {
	setup

	histories reqcache.Histories[encoder, *encoder]
	base      string
	stall     time.Duration
	client    *http.Client
	caller    *caller
}

var (
	_ model.Checker = (*Model)(nil)
	_ model.Counter = (*Model)(nil)
)

// Cancellable implements [model.Cancellable].
func (m *Model) Cancellable() model.Model { return m }

// Info implements [model.Model]. The name is "bedrock:" and AWS's id.
func (m *Model) Info() model.Info {
	return model.Info{Name: "bedrock:" + m.name, ContextWindow: m.family.window, Output: m.family.output}
}
