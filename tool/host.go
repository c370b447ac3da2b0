package tool

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Host is what a running call asks of whoever runs it. The agent loop is one; a test that calls a tool without the loop
// brings its own. Its methods are safe for concurrent use: a tool may call them from several goroutines, and a straggler
// after its call has ended, when they change nothing.
type Host interface {
	Asker
	Reporter
	StateWriter
	// EndTurn does what the function [EndTurn] says.
	EndTurn()
	// ReturnDirect does what the function [ReturnDirect] says.
	ReturnDirect()
	// Approval returns what a user answered when a policy asked about the call; ok is false if nobody was asked.
	Approval() (a event.Approval, by string, ok bool)
	// Secret returns the run's secret of this name, or an empty one.
	Secret(name string) secret.Secret
}

// Reporter takes what a call tells.
type Reporter interface {
	// Progress shows news of the call to the watchers of its run. It returns when they were taken.
	Progress(news *event.ToolProgress)
	// FilesChanged does what the function [FilesChanged] says.
	FilesChanged(list []event.FileChange)
	// ArtifactSaved does what the function [ArtifactSaved] says.
	ArtifactSaved(b *event.ArtifactSaved)
}

// Asker takes the questions of [Ask].
type Asker interface {
	// Ask returns the answer to the next question of the call. Without an answer it keeps the question and returns
	// [ErrWaits].
	Ask(q *event.Asked) (answer json.RawMessage, err error)
	// AnsweredBy returns who answered the question at index; "" if nobody has, or nobody said who.
	AnsweredBy(index int) string
}

// StateReader is where [State] reads.
type StateReader interface {
	// State returns a value of the state; ok is false if there is none.
	State(key string) (value json.RawMessage, ok bool)
}

// StateWriter is where [State] reads and writes.
type StateWriter interface {
	StateReader
	// SetState sets a value of the state; nil deletes it.
	SetState(key string, value json.RawMessage)
	// UpdateState sets a value of the state to what change makes of it, nil standing for none. It may call change again
	// when it keeps the call's result, if another call has changed the value in between.
	UpdateState(key string, change func(old json.RawMessage) (json.RawMessage, error)) error
}
