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

// Provider describes the provider under test.
type Provider struct {
	// Name is the provider's column in the table of features. Several runs for different models
	// of a provider share a name.
	Name string
	// Unlisted keeps a run out of the table, for settings that remove features.
	Unlisted bool
	// Open returns a model and the stand-in that it calls. The stand-in gives one of the
	// answers to each accepted request, in order. Both end with the test. The model's idle
	// timeout must be [Silence]. Tests of timeouts call Open in a testing/synctest bubble,
	// where the stand-in must not listen on a socket.
	Open func(tb testing.TB, answers ...Answer) (model.Model, Peer)
	// Loop runs an agent on the model with one input and yields its events. The agent makes at
	// most [Attempts] attempts of a call, and nothing else retries. It waits a millisecond
	// before the second attempt, or as long as the model asks. Package test/wires provides
	// Loop, because this package does not import the loop.
	Loop func(ctx context.Context, m model.Model, input string) iter.Seq2[event.Event, error]
	// Without lists the features that the vendor lacks.
	Without []Feature
	// Stops lists the stop reasons that the vendor has.
	Stops []event.StopReason
	// Signature maps a signature in an answer to the one that the model stores, if the model
	// adds to it; nil means that it stays the same.
	Signature func(given string) string
	// Own is the prefix of the signatures that the model sends back, such as "openai."; "" is
	// Claude's, which have no prefix. A request leaves out content with other signatures, or
	// describes it in text.
	Own string
	// Prompt returns a request body as the vendor's cache sees it: tools, instructions and
	// messages in the cache's order, without the cache points, and the positions of these
	// points in rising order. A vendor with automatic caching has one point, at the end of the
	// messages. [PromptCache] needs it.
	Prompt func(body []byte) (prompt []byte, points []int)
	// LargestImage is the maximum size of an image in bytes, for [ImageLimit].
	LargestImage int
	// Table is the Markdown file with the table of features, if there is one. Run fails if the
	// table contradicts Without and Stops.
	Table string

	seen *sighting
}

// Attempts is the number of attempts that the agents of [Provider].Loop make of a call.
const Attempts = 3

// Silence is the idle timeout of a provider under test. It is longer than any delay of a busy
// machine. Only tests with a simulated clock wait for it.
const Silence = 2 * time.Minute

// Peer is the stand-in as the contract sees it.
type Peer interface {
	// Asked returns the number of requests received, including refused ones.
	Asked() int
	// Left waits until the client has left an unfinished answer. It returns false if that does
	// not happen within d.
	Left(d time.Duration) bool
}

// Bodies is a [Peer] that stores the bodies of requests.
type Bodies interface {
	Peer
	// Bodies returns the bodies of all requests unchanged and in order, including refused ones.
	Bodies() [][]byte
}

// signed is a signature as the model gives it.
func (p *Provider) signed(given string) string {
	if p.Signature == nil {
		return given
	}
	return p.Signature(given)
}

// Answer is the stand-in's answer to one request.
type Answer struct {
	// Chunks are the answer without usage and stop. The stand-in sends each as a separate piece
	// in this order. It reports a guardrail's redaction ([model.ChunkRedactInput],
	// [model.ChunkRedactOutput]) as its vendor does; the model may choose the replacement text.
	Chunks []model.Chunk
	Stop   event.StopReason
	Usage  event.Usage
	// Fault breaks the answer. Chunks precede it if the fault can happen in the middle.
	Fault Fault
	// RetryAfter is sent with an error, in whole seconds.
	RetryAfter time.Duration
	// Slow sends the answer one byte at a time.
	Slow bool
	// LateUsage sends the usage after the end signal, for [LateUsage].
	LateUsage bool
}

// Each returns the wire form of each answer. Equal consecutive answers are encoded once,
// because property tests prepare thousands of them.
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

// The faults. Those of the first group replace an answer, those of the second follow its
// chunks.
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

// Faults returns all faults and the kind of error that each must become.
func Faults() map[Fault]event.ErrorKind {
	return map[Fault]event.ErrorKind{
		Throttled: event.ErrThrottled, Overloaded: event.ErrOverloaded, Unavailable: event.ErrUnavailable,
		ContextOverflow: event.ErrContextOverflow, Unauthenticated: event.ErrModelAuth, Forbidden: event.ErrModelAuth,
		UnknownModel: event.ErrModelNotFound, Refused: event.ErrInvalid, TooLarge: event.ErrTooLarge, Silent: event.ErrStreamCut,
		Cut: event.ErrStreamCut, NoEnd: event.ErrStreamCut, Stalled: event.ErrStreamCut,
		Overloads: event.ErrOverloaded, FailsLater: event.ErrUnavailable,
	}
}
