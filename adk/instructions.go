package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/tool"
)

// MaxInstructions bounds filled instructions, in bytes.
const MaxInstructions = 1 << 20

// Instructions set the agent's system prompt, as [braid.Instructions] does, with placeholders that are filled before each
// model call:
//
//   - {key} is a value of the state: a text as it is, null as nothing, any other value as JSON. The key is an identifier, also
//     after app:, user:, temp: or run:.
//   - {artifact.name} is the newest version of an artifact, which must be text. It needs [Artifacts].
//   - {key?} and {artifact.name?} are empty if there is no such value.
//
// Braces around anything else stay as they are. What a value says is no placeholder, whatever is in it.
//
// A value that is not there fails the model call with [event.ErrInvalid], and so do instructions of more than
// [MaxInstructions]. The log and the history have the placeholders alone. [braid.WithInstructions] and the instructions of
// tools have none.
func Instructions(template string, opts ...Option) braid.Part {
	t := &instructions{template: template}
	for _, o := range opts {
		o(t)
	}
	pieces, open := parse(template)
	if !open {
		return braid.Instructions(template)
	}
	t.pieces = pieces
	return braid.Parts(braid.Instructions(template), braid.On(t.check), braid.On(t.fill))
}

// Option is an option of [Instructions].
type Option func(*instructions)

// Artifacts gives instructions artifacts: open returns those of the run to which the context belongs, or nil if there are none.
// It is called once before each model call whose instructions name one.
func Artifacts(open func(ctx context.Context) (artifact.Files, error)) Option {
	return func(t *instructions) { t.open = open }
}

type instructions struct {
	template string
	pieces   []piece
	open     func(ctx context.Context) (artifact.Files, error)
}

// check refuses placeholders that can never be filled.
func (t *instructions) check(_ context.Context, _ *braid.Made) error {
	for _, p := range t.pieces {
		if p.artifact == "" {
			continue
		}
		if t.open == nil {
			return refused("the instructions name the artifact "+strconv.Quote(p.artifact)+", and there are no artifacts", "pass adk.Artifacts")
		}
		if err := artifact.CheckName(p.artifact); err != nil {
			return err
		}
	}
	return nil
}

// fill is the hook that puts the values in. It leaves instructions alone that a hook before it has replaced.
func (t *instructions) fill(ctx context.Context, e *hook.BeforeModel) error {
	before, after, ok := strings.Cut(e.Request.Instructions, t.template)
	if !ok {
		return nil
	}
	text, err := t.text(ctx)
	if err != nil {
		return err
	}
	e.Request.Instructions = before + text + after
	return nil
}

// text returns the instructions with their values.
func (t *instructions) text(ctx context.Context) (string, error) {
	var files artifact.Files
	var text strings.Builder
	for i := range t.pieces {
		p, value := &t.pieces[i], t.pieces[i].text
		var err error
		switch {
		case p.key != "":
			value, err = p.state(ctx)
		case p.artifact != "":
			if files == nil {
				if files, err = t.files(ctx); err != nil {
					return "", err
				}
			}
			value, err = p.load(ctx, files)
		}
		if err != nil {
			return "", err
		}
		if text.Len()+len(value) > MaxInstructions {
			return "", refused(fmt.Sprintf("the instructions have more than %d bytes with their values", MaxInstructions),
				"keep what they name shorter")
		}
		text.WriteString(value)
	}
	return text.String(), nil
}

func (t *instructions) files(ctx context.Context) (artifact.Files, error) {
	files, err := t.open(ctx)
	if err == nil && files == nil {
		err = refused("the instructions name an artifact, and this conversation has none", "run the agent where artifacts are kept")
	}
	return files, err
}

// state returns a value of the state as text.
func (p *piece) state(ctx context.Context) (string, error) {
	raw, ok, err := tool.State[json.RawMessage](p.key).Get(ctx)
	switch {
	case err != nil:
		return "", err
	case !ok && p.optional, ok && string(raw) == "null":
		return "", nil
	case !ok:
		return "", refused("the instructions name "+strconv.Quote(p.key)+", and the state has no such value",
			"set it before the agent runs, or write {"+p.key+"?}")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	return string(raw), nil
}

// load returns an artifact as text.
func (p *piece) load(ctx context.Context, files artifact.Files) (string, error) {
	v, r, err := files.Load(ctx, p.artifact, artifact.Latest)
	switch {
	case errors.Is(err, event.ErrNotFound) && p.optional:
		return "", nil
	case errors.Is(err, event.ErrNotFound):
		return "", refused("the instructions name the artifact "+strconv.Quote(p.artifact)+", which is not there",
			"save it before the agent runs, or write {artifact."+p.artifact+"?}")
	case err != nil:
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, MaxInstructions+1))
	switch {
	case err != nil:
		return "", err
	case v.Size <= MaxInstructions && !utf8.Valid(data):
		return "", refused("the artifact "+strconv.Quote(p.artifact)+" in the instructions is no text", "name one that is text")
	}
	return string(data), nil
}

func refused(message, hint string) error {
	return &event.Error{Op: "instructions", Kind: event.ErrInvalid, Message: message, Hint: hint}
}
