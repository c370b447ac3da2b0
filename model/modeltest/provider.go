package modeltest

import (
	"context"
	"iter"
	"reflect"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Provider is what is tested.
type Provider struct {
	// Name is the provider's column in the table of features; several runs under
	// one name, of models that differ, share it.
	Name string
	// Unlisted keeps a run out of the table: of a provider under settings that take
	// features away.
	Unlisted bool
	// Open makes a model and the stand-in that it calls, which gives these
	// answers, one to each request that it takes, in their order. Both end with
	// the test. A call to the model may be silent for at most [Silence]. What is
	// about silence calls Open in a bubble of testing/synctest: the stand-in must
	// not listen on a socket there.
	Open func(tb testing.TB, answers ...Answer) (model.Model, Peer)
	// Loop runs an agent on the model with one input and yields its events. The agent
	// makes at most [Attempts] attempts at a call, and no others than the loop's: it waits
	// a millisecond before the second, or as long as the model asks. Package test/wires
	// has it, because this package does not import the loop.
	Loop func(ctx context.Context, m model.Model, input string) iter.Seq2[event.Event, error]
	// Without names the features that the vendor does not have.
	Without []Feature
	// Stops lists the reasons that the vendor can give for the end of an answer.
	Stops []event.StopReason
	// Signature gives what the model makes of a signature that stands in an
	// answer, where it keeps more than the vendor's own; nil is the same.
	Signature func(given string) string
	// Own is the beginning of the signatures that the model takes back, such as
	// "openai."; "" is that of Claude, whose signatures stand bare. What others have
	// signed is left out of a request, or told in words.
	Own string
	// Prompt gives the body of a request as the vendor's cache sees it: tools,
	// instructions and messages in the cache's order, without the cache points, and
	// where in it these stood, in rising order. A vendor that caches by itself has one
	// point, at the end of the messages. It is needed for [PromptCache].
	Prompt func(body []byte) (prompt []byte, points []int)
	// LargestImage is how many bytes an image may have, for [ImageLimit].
	LargestImage int
	// Table is the Markdown file that holds the table of features, where there is
	// one: Run fails where it says otherwise than Without and Stops.
	Table string

	seen *sighting
}

// Attempts is how often the agents of [Provider].Loop make one call.
const Attempts = 3

// Silence is how long a provider under test lets its vendor say nothing: longer than any
// machine is busy with something else. Nobody waits for it but a clock that is not real.
const Silence = 2 * time.Minute

// Peer is the other side as the contract sees it.
type Peer interface {
	// Asked counts the requests that have come, also those that were refused.
	Asked() int
	// Left waits until the client has gone away from an answer that had not
	// ended, and is false where that does not happen within d.
	Left(d time.Duration) bool
}

// Bodies is a [Peer] that keeps what it was sent.
type Bodies interface {
	Peer
	// Bodies gives the bodies of the requests as they came, also of those that were
	// refused, in their order.
	Bodies() [][]byte
}

// signed is a signature as the model gives it.
func (p *Provider) signed(given string) string {
	if p.Signature == nil {
		return given
	}
	return p.Signature(given)
}

// Answer is what the stand-in is to say to one request.
type Answer struct {
	// Chunks are the answer's pieces, without usage and stop. The stand-in
	// sends each as a piece of its own, in this order. What a guardrail redacts
	// ([model.ChunkRedactInput], [model.ChunkRedactOutput]) it tells where its vendor
	// does; the words for it may be the model's own.
	Chunks []model.Chunk
	Stop   event.StopReason
	Usage  event.Usage
	// Fault breaks the answer; Chunks come before it where it is one that can
	// strike in the middle.
	Fault Fault
	// RetryAfter goes with an error, in whole seconds.
	RetryAfter time.Duration
	// Slow sends the answer one byte at a time.
	Slow bool
	// LateUsage tells the usage behind the end signal, for [LateUsage].
	LateUsage bool
}

// Each gives what the stand-in's wire makes of each answer. An answer that is like the one before
// it is put on the wire once: a property prepares thousands of those.
func Each[T any](answers []Answer, onWire func(*Answer) T) []T {
	list := make([]T, len(answers))
	for i := range answers {
		if i > 0 && reflect.DeepEqual(answers[i], answers[i-1]) {
			list[i] = list[i-1]
			continue
		}
		list[i] = onWire(&answers[i])
	}
	return list
}

// Fault is how a call fails.
type Fault string

// The faults. Those of the first group come instead of an answer, those of the
// second behind its chunks.
const (
	Throttled       Fault = "throttled"
	Overloaded      Fault = "overloaded"
	Unavailable     Fault = "server error"
	ContextOverflow Fault = "context overflow"
	Unauthenticated Fault = "authentication"
	Forbidden       Fault = "permission"
	UnknownModel    Fault = "unknown model"
	Refused         Fault = "invalid request"
	TooLarge        Fault = "too large"
	Silent          Fault = "silent"

	Cut        Fault = "cut"
	NoEnd      Fault = "no end signal"
	Stalled    Fault = "stall"
	Overloads  Fault = "overloaded in the stream"
	FailsLater Fault = "server error in the stream"
)

// Faults lists all of them with the kind of error that each must become.
func Faults() map[Fault]event.ErrorKind {
	return map[Fault]event.ErrorKind{
		Throttled: event.ErrThrottled, Overloaded: event.ErrOverloaded, Unavailable: event.ErrUnavailable,
		ContextOverflow: event.ErrContextOverflow, Unauthenticated: event.ErrModelAuth, Forbidden: event.ErrModelAuth,
		UnknownModel: event.ErrModelNotFound, Refused: event.ErrInvalid, TooLarge: event.ErrTooLarge, Silent: event.ErrStreamCut,
		Cut: event.ErrStreamCut, NoEnd: event.ErrStreamCut, Stalled: event.ErrStreamCut,
		Overloads: event.ErrOverloaded, FailsLater: event.ErrUnavailable,
	}
}
