package demo

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Fault makes calls fail as a provider's do. Whether it applies depends only on the request's
// cycle and attempt.
type Fault struct {
	Kind FaultKind
	// Cycle is the cycle whose call fails; 0 means every cycle.
	Cycle int
	// Attempts is how many attempts of a call fail before one succeeds; 0 means all.
	Attempts int
	// After is the number of pieces before the fault. 0 means none, or half of the answer for
	// FaultCut. Faults in the content ignore it.
	After int
	// RetryAfter is set in the error, for kinds that are errors.
	RetryAfter time.Duration
	// Size is the number of bytes that FaultHugeArguments adds; 0 means 10 MiB. The maximum is
	// 256 MiB.
	Size int
}

// FaultKind names a fault. In addition to these constants, the error kinds of providers are
// faults of the same name: throttled, overloaded, unavailable, model_error, model_auth,
// model_not_found, context_overflow, timeout and invalid.
type FaultKind string

// The faults that are not plain errors.
const (
	// FaultCut breaks the stream with an error of kind stream_cut.
	FaultCut FaultKind = "cut"
	// FaultNoStop ends the stream regularly, but without the end signal.
	FaultNoStop FaultKind = "no_stop"
	// FaultStall sends nothing more until the context ends.
	FaultStall FaultKind = "stall"
	// FaultForeignError ends the stream with an error that is not an *event.Error, which a
	// provider must never do.
	FaultForeignError FaultKind = "foreign_error"

	// The following faults change the answer's content. All except FaultInvalidUTF8 apply only
	// to replies that call a tool.

	// FaultBadArguments cuts the arguments of each call in the middle, so that they are not
	// JSON.
	FaultBadArguments FaultKind = "bad_arguments"
	// FaultUnknownTool calls tools that do not exist.
	FaultUnknownTool FaultKind = "unknown_tool"
	// FaultDuplicateIDs gives all calls one id; a single call is sent twice.
	FaultDuplicateIDs FaultKind = "duplicate_ids"
	// FaultEmptyIDs leaves the ids of calls empty.
	FaultEmptyIDs FaultKind = "empty_ids"
	// FaultHugeArguments adds a member "padding" of Size bytes to the arguments of each call.
	FaultHugeArguments FaultKind = "huge_arguments"
	// FaultInvalidUTF8 puts invalid UTF-8 into text and thinking; a reply without either gets a
	// text block with it.
	FaultInvalidUTF8 FaultKind = "invalid_utf8"
)

const (
	hugeDefault = 10 << 20
	hugeMost    = 256 << 20
)

// The faults that are errors of a provider.
var errorFaults = map[FaultKind]string{
	"throttled":        "the simulated provider is throttling",
	"overloaded":       "the simulated provider is overloaded",
	"unavailable":      "the simulated provider cannot be reached",
	"model_error":      "the simulated provider gave an error",
	"model_auth":       "the simulated provider refused the credential",
	"model_not_found":  "the simulated provider has no such model",
	"context_overflow": "the conversation does not fit the simulated model's context",
	"timeout":          "the simulated provider did not answer in time",
	"invalid":          "the simulated provider refused the request",
}

func faultKinds() []string {
	out := make([]string, 0, len(errorFaults)+10)
	for k := range errorFaults {
		out = append(out, string(k))
	}
	for _, k := range []FaultKind{
		FaultCut, FaultNoStop, FaultStall, FaultForeignError, FaultBadArguments, FaultUnknownTool,
		FaultDuplicateIDs, FaultEmptyIDs, FaultHugeArguments, FaultInvalidUTF8,
	} {
		out = append(out, string(k))
	}
	slices.Sort(out)
	return out
}

// check returns the invalid field and what is wrong with it.
func (f *Fault) check() (field, problem string) {
	switch {
	case !slices.Contains(faultKinds(), string(f.Kind)):
		return "kind", "there is no fault " + strconv.Quote(string(f.Kind)) + "; there are " + strings.Join(faultKinds(), ", ")
	case f.Cycle < 0:
		return "cycle", "must not be negative"
	case f.Attempts < 0:
		return "attempts", "must not be negative"
	case f.After < 0:
		return "after", "must not be negative"
	case f.RetryAfter < 0:
		return "retry_after", "must not be negative"
	case f.Size < 0:
		return "size", "must not be negative"
	case f.Size > hugeMost:
		return "size", "must be at most " + strconv.Itoa(hugeMost)
	}
	return "", ""
}

// strikes reports whether the fault applies to this call.
func (f *Fault) strikes(req *model.Request) bool {
	if f == nil || (f.Cycle > 0 && f.Cycle != req.Cycle) {
		return false
	}
	return f.Attempts == 0 || req.Attempt <= f.Attempts
}

// err returns the error that ends the stream; nil for other faults.
func (f *Fault) err() error {
	if msg, ok := errorFaults[f.Kind]; ok {
		return &event.Error{
			Op: op, Kind: event.ErrorKind(f.Kind), Message: msg,
			Hint: "this fault is part of the demo script", RetryAfter: f.RetryAfter,
		}
	}
	switch f.Kind {
	case FaultCut:
		return &event.Error{
			Op: op, Kind: event.ErrStreamCut, Message: "the simulated model's answer broke off",
			Hint: "this fault is part of the demo script",
		}
	case FaultForeignError:
		return errors.New("demo: an error without a kind")
	default:
		return nil
	}
}

// before returns how many of n pieces come before the fault.
func (f *Fault) before(n int) int {
	if f.Kind == FaultCut && f.After == 0 {
		return n / 2
	}
	return min(f.After, n)
}

// needsCalls reports whether the fault changes tool calls.
func (f *Fault) needsCalls() bool {
	switch f.Kind {
	case FaultBadArguments, FaultUnknownTool, FaultDuplicateIDs, FaultEmptyIDs, FaultHugeArguments:
		return true
	default:
		return false
	}
}

// spoil applies the fault to the content of blocks. It owns out.
func (f *Fault) spoil(out []block) []block {
	switch f.Kind {
	case FaultBadArguments:
		eachCall(out, func(b *block) { b.args = b.args[:len(b.args)/2] })
	case FaultUnknownTool:
		eachCall(out, func(b *block) { b.text = "no_such_tool" })
	case FaultEmptyIDs:
		eachCall(out, func(b *block) { b.id = ""; b.keepID = true })
	case FaultHugeArguments:
		n := f.Size
		if n == 0 {
			n = hugeDefault
		}
		eachCall(out, func(b *block) { b.args = padded(b.args, n) })
	case FaultDuplicateIDs:
		out = duplicateIDs(out)
	case FaultInvalidUTF8:
		out = invalidUTF8(out)
	default: // other faults end the stream instead
	}
	return out
}

func eachCall(blocks []block, change func(*block)) {
	for i := range blocks {
		if blocks[i].kind == model.ChunkCall {
			change(&blocks[i])
		}
	}
}

func duplicateIDs(blocks []block) []block {
	first, n := -1, 0
	for i := range blocks {
		if blocks[i].kind == model.ChunkCall {
			if first < 0 {
				first = i
			}
			n++
		}
	}
	if first < 0 {
		return blocks
	}
	if n == 1 {
		blocks = append(blocks, blocks[first])
	}
	id := blocks[first].id
	if id == "" {
		id = "call_twice"
	}
	eachCall(blocks, func(b *block) { b.id = id })
	return blocks
}

func invalidUTF8(blocks []block) []block {
	const bad = "\xff\xe3\x81"
	n := 0
	for i := range blocks {
		if k := blocks[i].kind; k == model.ChunkText || k == model.ChunkThinking {
			blocks[i].text = blocks[i].text + bad + blocks[i].text
			n++
		}
	}
	if n == 0 {
		blocks = append(blocks, block{kind: model.ChunkText, text: bad})
	}
	return blocks
}

// padded adds a long member to a JSON object. Other values stay unchanged.
func padded(args string, n int) string {
	body := strings.TrimSpace(args)
	if !strings.HasPrefix(body, "{") || !strings.HasSuffix(body, "}") {
		return args
	}
	inner := strings.TrimSpace(body[1 : len(body)-1])
	if inner != "" {
		inner += ","
	}
	return "{" + inner + `"padding":"` + strings.Repeat("x", n) + `"}`
}
