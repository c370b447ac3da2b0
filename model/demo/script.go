package demo

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Script is what a simulated model says. It can be written in Go or read from
// YAML with [Parse]; [New] checks it. A Script is data: New copies what it needs.
type Script struct {
	// Name stands behind "demo:" in the model's name. Letters, digits, "_",
	// "-" and "."; empty counts as "script".
	Name string
	// About says in a sentence what the script shows.
	About string
	// Prompt is what to ask to see it, by language ("en", "ja"); may be nil.
	Prompt map[string]string
	// Timing is that of every rule which has none of its own.
	Timing Timing
	// Rules are tried in order; the first that fits answers. A request that
	// none fits gets an error, so most scripts end with a rule without conditions.
	Rules []Rule
}

// Rule is one answer and when it is given.
type Rule struct {
	// Name is for error messages.
	Name string
	When When
	// Reply is the answer, block by block. Empty is an empty answer.
	Reply []Piece
	// Stop is the stop reason; empty means tool_use where the reply calls a
	// tool and end_turn elsewhere.
	Stop event.StopReason
	// Usage is what the answer is said to have used. Nil is an estimate from
	// the sizes of request and reply: four bytes of Latin text or one
	// character of Japanese count as a token.
	Usage *event.Usage
	// Timing is kept only where the model runs in real time; see [Realtime].
	Timing Timing
	// Fault makes the answer fail; nil is none.
	Fault *Fault

	line int
}

// When holds the conditions of a rule. Those that are set must all hold.
type When struct {
	// User are regular expressions (Go's, in any case of letters); one of
	// them is found in the first 8 KiB of what the person said last. Its groups
	// are ${1}, ${2} or ${name} in the reply.
	User []string
	// Language is "en" or "ja": the language of what the person said last, in
	// its first 8 KiB.
	Language string
	// Finds asks for more than a pattern: see the constants.
	Finds Finder
	// Tool lists tool names; the first one that is offered is ${tool}.
	Tool []string
	// Missing lists tools of which at least one is not offered.
	Missing []string
	// After lists tools; the last message brings the result of one of them,
	// which is ${result} in the reply. "*" stands for any tool.
	After []string
	// Failed goes with After: whether that result is an error. Nil is either.
	Failed *bool
	// Result goes with After: a regular expression found in the first 8 KiB of
	// that result.
	Result string
	// Round counts the model's answers to one message of the person: 1 speaks
	// to the person, 2 to the results of the first tools, and so on. 0 means 1,
	// or any where After is set; [AnyRound] means any.
	Round int
	// Turn counts the messages of the person that the model sees, from 1.
	Turn int
	// Cycle and Attempt are those of the request.
	Cycle   int
	Attempt int
}

// AnyRound in [When] lets a rule answer in every round.
const AnyRound = -1

// Finder names something that the model can find in what the person said.
type Finder string

// The finders.
const (
	// FindsArithmetic finds a calculation in English or Japanese:
	// ${expression} is the calculation in signs, such as "3 + 5".
	FindsArithmetic Finder = "arithmetic"
	// FindsOperation finds a calculation whose next step one of the offered
	// tools can do, judged by its name and schema (add with two numbers):
	// ${tool} is the tool and ${args} its arguments. Results since the
	// person's message count as the steps that are done.
	FindsOperation Finder = "operation"
	// FindsTool finds the name of an offered tool and values for what it
	// requires: ${tool} and ${args}.
	FindsTool Finder = "tool"
)

// Piece is one block of a reply: exactly one of Thinking, Text, Call and
// Block is set. Strings may hold ${…} (see docs/guide/demo-scripts.md).
type Piece struct {
	Thinking string
	Text     string
	// Translations are Thinking or Text in other languages, "ja" for one.
	Translations map[string]string

	// Call is the name of the tool to call.
	Call string
	// Args are the call's arguments as JSON; nil means {}. A string that is
	// one ${…} and nothing else becomes that value, a number for one.
	Args json.RawMessage
	// ID is the call's id; empty means one derived from run, scope and cycle.
	ID string

	// Block is sent whole, as it is.
	Block event.Block
}

// Timing is how long an answer takes. The zero value is as fast as possible.
type Timing struct {
	// FirstByte is the time before the first piece.
	FirstByte time.Duration
	// Total is the time until the answer is whole; the pieces are spread
	// evenly over what is left after FirstByte. It takes precedence over Rate.
	Total time.Duration
	// Rate is how many pieces come each second after the first.
	Rate float64
}

func (t Timing) zero() bool { return t == Timing{} }

// Say is a piece of text.
func Say(text string) Piece { return Piece{Text: text} }

// Think is a piece of thinking.
func Think(text string) Piece { return Piece{Thinking: text} }

// Call is a piece that calls a tool with args, JSON as text; "" means {}.
func Call(tool, args string) Piece {
	p := Piece{Call: tool}
	if args != "" {
		p.Args = json.RawMessage(args)
	}
	return p
}

// Replies is a script that gives each reply in its round: the first to the
// person, the next to the results of the tools that the first one called, and so on.
func Replies(name string, replies ...[]Piece) Script {
	s := Script{Name: name}
	for i, r := range replies {
		s.Rules = append(s.Rules, Rule{When: When{Round: i + 1}, Reply: r})
	}
	return s
}
