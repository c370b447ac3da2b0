package worker

import (
	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Lie is something that a worker does wrong on purpose, so that the checker can
// be seen to find it.
type Lie string

// The lies.
const (
	// LiePure declares the unsafe tool to be pure.
	LiePure Lie = "pure"
	// LieKey gives the idempotent tool another key in each attempt.
	LieKey Lie = "key"
	// LieBlind never asks what became of a reconcilable call.
	LieBlind Lie = "blind"
	// LieEarly says that an order is carried out before it is.
	LieEarly Lie = "early"
	// LieTwice leaves the same message under a new name each time.
	LieTwice Lie = "twice"
	// LieBill does not tell the loop what a model call cost.
	LieBill Lie = "bill"
)

// LiePlanted stands before the name of a bug of package planted, in a worker that is
// built with the tag of that name.
const LiePlanted = "planted: "

// Do is what an [Order] wants.
type Do string

// The orders.
const (
	// DoSubmit submits a run to the engine, DoSend leaves a message by a policy.
	DoSubmit Do = "submit"
	DoSend   Do = "send"
	// DoAnswer answers a question.
	DoAnswer Do = "answer"
	// DoRetry continues the conversation's newest run, if that failed, with a run whose id is the Key.
	DoRetry Do = "retry"
	// DoLook asks what is open.
	DoLook Do = "look"
	// DoWatch begins to tell what a client sees of a conversation after a place in
	// its log. It is answered by what is seen.
	DoWatch Do = "watch"
)

// Order is a line of the worker's input. One of the same Key may be given again,
// to this process or the next.
type Order struct {
	ID           int          `json:"id"`
	Do           Do           `json:"do"`
	Conversation string       `json:"conversation"`
	Key          string       `json:"key,omitempty"`
	Policy       braid.Policy `json:"policy,omitempty"`
	Token        string       `json:"token,omitempty"`
	Text         string       `json:"text,omitempty"`
	After        int64        `json:"after,omitempty"`
}

// Told is a line of its output: exactly one of the fields.
type Told struct {
	Begun *Begun `json:"begun,omitempty"`
	Done  *Done  `json:"done,omitempty"`
	// Takes and Leaves are runs that a driver begins to drive, and that it drives no more.
	Takes  *Place `json:"takes,omitempty"`
	Leaves *Place `json:"leaves,omitempty"`
	// Event is what a driver sent, Seen what came to a client that watches.
	Event *Sight `json:"event,omitempty"`
	Seen  *Sight `json:"seen,omitempty"`
	// Trouble is a line that could not be written.
	Trouble string `json:"trouble,omitempty"`
}

// Begun says what is open. It is the first line, when the engine runs.
type Begun struct {
	Open      []Place  `json:"open,omitempty"`
	Questions []Asking `json:"questions,omitempty"`
}

// Place is a run and where it stands.
type Place struct {
	Conversation string `json:"conversation"`
	Run          string `json:"run"`
}

// Asking is an open question.
type Asking struct {
	Conversation string `json:"conversation"`
	Token        string `json:"token"`
}

// Done acknowledges an order, or refuses it with an error's kind and words.
type Done struct {
	ID     int             `json:"id"`
	Run    string          `json:"run,omitempty"`
	Joined bool            `json:"joined,omitempty"`
	Error  event.ErrorKind `json:"error,omitempty"`
	// Open answers DoLook.
	Open *Begun `json:"open,omitempty"`
	Says string `json:"says,omitempty"`
}

// Sight is what is told of a durable event.
type Sight struct {
	Conversation string     `json:"conversation"`
	Run          string     `json:"run"`
	Seq          int64      `json:"seq"`
	Kind         event.Kind `json:"kind"`
	Step         string     `json:"step,omitempty"`
	Attempt      int        `json:"attempt,omitempty"`
	// Token is a question's.
	Token string `json:"token,omitempty"`
	// Progress says that the run got on with it.
	Progress bool `json:"progress,omitempty"`
}

func sightOf(e *event.Event) *Sight {
	s := &Sight{
		Conversation: e.Conversation, Run: e.Run, Seq: e.Seq, Kind: e.Body.Kind(), Step: e.Step, Attempt: e.Attempt,
		Progress: journal.Progresses([]*event.Event{e}),
	}
	if asked, ok := e.Body.(*event.Asked); ok {
		s.Token = asked.Token
	}
	return s
}
