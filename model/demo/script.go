package demo

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// Script defines the answers of a simulated model. Write it in Go or read it from YAML with
// [Parse]; [New] checks it. New copies what it needs.
type Script struct {
	// Name follows "demo:" in the model's name. It consists of letters, digits, "_", "-" and
	// "."; empty means "script".
	Name string
	// About says in a sentence what the script shows.
	About string
	// Prompt is a prompt for trying the script, by language ("en", "ja"); it may be nil.
	Prompt map[string]string
	// Timing is the default timing of the rules.
	Timing Timing
	// Rules are tried in order; the first that matches answers. A request that matches no rule
	// gets an error, so most scripts end with a rule without conditions.
	Rules []Rule
}

// Rule is an answer and its conditions.
type Rule struct {
	// Name is for error messages.
	Name string
	When When
	// Reply is the answer, block by block. Nil is an empty answer.
	Reply []Piece
	// Stop is the stop reason. Empty means tool_use if the reply calls a tool, and otherwise
	// end_turn.
	Stop event.StopReason
	// Usage is the reported usage. If it is nil, the model estimates it from the sizes of
	// request and reply: four bytes of Latin text or one character of Japanese count as a
	// token.
	Usage *event.Usage
	// Timing applies only if the model runs in real time; see [Realtime].
	Timing Timing
	// Fault makes the answer fail; nil is none.
	Fault *Fault

	line int
}

// When holds the conditions of a rule. All that are set must hold.
type When struct {
	// User are regular expressions (Go's, case-insensitive). One of them must match in the
	// first 8 KiB of the latest user message. Its groups are ${1}, ${2} or ${name} in the
	// reply.
	User []string
	// Language is "en" or "ja": the language of the first 8 KiB of the latest user message.
	Language string
	// Finds requires something that a pattern cannot find; see the constants.
	Finds Finder
	// Tool lists tool names, of which one must be offered. The first such tool is ${tool}.
	Tool []string
	// Missing lists tools of which at least one is not offered.
	Missing []string
	// After lists tools. The last message must contain a result of one of them, which is
	// ${result} in the reply. "*" stands for any tool.
	After []string
	// Failed selects, together with After, results that are errors or that are not; nil selects
	// both.
	Failed *bool
	// Result is, together with After, a regular expression that must match in the first 8 KiB
	// of the result.
	Result string
	// Round counts the model's answers since the latest user message: 1 answers the user, 2 the
	// results of the first tools, and so on. 0 means 1, or any round if After is set;
	// [AnyRound] means any.
	Round int
	// Turn counts the user messages that the model sees, from 1.
	Turn int
	// Cycle and Attempt are compared with those of the request.
	Cycle   int
	Attempt int
}

// AnyRound in [When] lets a rule answer in every round.
const AnyRound = -1

// Finder names something to find in the latest user message.
type Finder string

// The finders.
const (
	// FindsArithmetic finds a calculation in English or Japanese:
	// ${expression} is the calculation in signs, such as "3 + 5".
	FindsArithmetic Finder = "arithmetic"
	// FindsOperation finds a calculation whose next step one of the offered tools can do,
	// judged by its name and schema (add with two numbers): ${tool} is the tool and ${args} its
	// arguments. Results since the user message count as steps already done.
	FindsOperation Finder = "operation"
	// FindsTool finds the name of an offered tool and values for its required parameters:
	// ${tool} and ${args}.
	FindsTool Finder = "tool"
)

// Piece is a block of a reply. Exactly one of Thinking, Text, Call and Block is set. Strings
// may contain ${…} (see docs/guide/demo-scripts.md).
type Piece struct {
	Thinking string
	Text     string
	// Translations are Thinking or Text in other languages, such as "ja".
	Translations map[string]string

	// Call is the name of the tool to call.
	Call string
	// Args are the call's arguments as JSON; nil means {}. A string that is exactly one ${…}
	// becomes the variable's value with its type, such as a number.
	Args json.RawMessage
	// ID is the call's id; empty means one derived from run, scope and cycle.
	ID string

	// Block is sent unchanged, in one chunk.
	Block event.Block
}

// Timing sets the duration of an answer. The zero value is as fast as possible.
type Timing struct {
	// FirstByte is the time before the first piece.
	FirstByte time.Duration
	// Total is the time until the answer is complete. The pieces are spread evenly over the
	// time after FirstByte. Total takes precedence over Rate.
	Total time.Duration
	// Rate is the number of pieces per second after the first.
	Rate float64
}

func (t Timing) zero() bool { return t == Timing{} }

// Say returns a piece of text.
func Say(text string) Piece { return Piece{Text: text} }

// Think returns a piece of thinking.
func Think(text string) Piece { return Piece{Thinking: text} }

// Call returns a piece that calls a tool. args is JSON; "" means {}.
func Call(tool, args string) Piece {
	p := Piece{Call: tool}
	if args != "" {
		p.Args = json.RawMessage(args)
	}
	return p
}

// Replies returns a script with one reply per round: the first answers the user, the next the
// results of the tools that the first called, and so on.
func Replies(name string, replies ...[]Piece) Script {
	s := Script{Name: name}
	for i, r := range replies {
		s.Rules = append(s.Rules, Rule{When: When{Round: i + 1}, Reply: r})
	}
	return s
}
