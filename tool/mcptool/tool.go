package mcptool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"
)

// Tool is a tool of an MCP server. It goes on working when its server was
// started again meanwhile.
type Tool struct {
	from   *server
	server string
	name   string
	title  string
	hints  Hints
	spec   model.ToolSpec
	traits tool.Traits
	// own is what the tool does that this package makes for the server; empty for a tool of the server.
	own own
}

var _ tool.Optional = (*Tool)(nil)

// Hints are what a server says about a tool of its own. They are advice: a
// server may be wrong, or lie.
type Hints struct {
	// ReadOnly: it changes nothing. Idempotent: twice is the same as once.
	ReadOnly   bool
	Idempotent bool
	// Destructive: it may destroy something; OpenWorld: it deals with what is
	// outside the server. Both are true where the server says nothing.
	Destructive bool
	OpenWorld   bool
}

func newTool(s *server, w wireTool, schema json.RawMessage) *Tool {
	t := &Tool{
		from: s, server: s.config.Name, name: w.Name, title: w.Title,
		hints:  Hints{Destructive: true, OpenWorld: true},
		spec:   model.ToolSpec{Name: legal(w.Name), Description: w.Description, Schema: schema},
		traits: tool.Traits{Effect: event.EffectUnsafe, Timeout: s.options.CallTimeout},
	}
	if h := w.Hints; h != nil {
		t.hints.ReadOnly, t.hints.Idempotent = h.ReadOnlyHint, h.IdempotentHint
		if h.DestructiveHint != nil {
			t.hints.Destructive = *h.DestructiveHint
		}
		if h.OpenWorldHint != nil {
			t.hints.OpenWorld = *h.OpenWorldHint
		}
		if t.title == "" {
			t.title = h.Title
		}
	}
	if slices.Contains(s.options.Trusted, s.config.Name) {
		switch {
		case t.hints.ReadOnly:
			t.traits.Effect = event.EffectPure
		case t.hints.Idempotent:
			t.traits.Effect = event.EffectIdempotent
		}
	}
	return t
}

// named is the tool under another name.
func (t *Tool) named(name string) *Tool {
	other := *t
	other.spec.Name = name
	return &other
}

// Spec implements [tool.Tool]: the name for the model, the server's own
// description, and the server's schema.
func (t *Tool) Spec() model.ToolSpec { return t.spec }

// Traits tells the loop about the tool's effect and time-out.
func (t *Tool) Traits() tool.Traits { return t.traits }

// LeftOut implements [tool.Optional]: [Servers.Status] tells it from then on, until the server lists its tools again.
func (t *Tool) LeftOut(model string, why error) {
	if t.from != nil {
		t.from.leftOut(t, model, why)
	}
}

// Server is the configured name of the tool's server.
func (t *Tool) Server() string { return t.server }

// Name is what the server calls the tool, Title what it calls it for people.
func (t *Tool) Name() string { return t.name }

// Title is the tool's name for people; "" where the server gives none.
func (t *Tool) Title() string { return t.title }

// Hints are what the server says about repeating the tool and the like.
func (t *Tool) Hints() Hints { return t.hints }

// Digest stands for all that the model and a reviewer read of the tool: its
// name, description, schema and hints. Who has approved a tool keeps it, to
// see that the server has not changed its words since.
func (t *Tool) Digest() string {
	all := fmt.Sprintf("%q %q %q %q %+v", t.name, t.title, t.spec.Description, t.spec.Schema, t.hints)
	sum := sha256.Sum256([]byte(all))
	return hex.EncodeToString(sum[:])
}

// pauses stand between the tries to reach a server that is not there.
var pauses = []time.Duration{200 * time.Millisecond, 600 * time.Millisecond}

// Call implements [tool.Tool]. What the server answers is the result, also
// where it is an error; an error of Call means that the server gave no answer. A call that cannot
// have reached the server, because it was started again meanwhile or
// is not there, is tried again; one that may have reached it is not, unless the
// tool may be repeated.
func (t *Tool) Call(ctx context.Context, args json.RawMessage) (out tool.Output, err error) {
	if t.from == nil {
		return tool.Output{}, fault(t.server, event.ErrGone, "is closed", "connect to it again", nil)
	}
	if tool.CallOf(ctx) == nil && t.traits.Timeout > 0 {
		// Nobody else looks at the time.
		outer := ctx
		bounded, cancel := context.WithTimeout(ctx, t.traits.Timeout)
		defer cancel()
		ctx = bounded
		defer func() {
			if err != nil && outer.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				err = fault(t.server, event.ErrTimeout, fmt.Sprintf("did not answer within %v%s", t.traits.Timeout, inDoubt),
					"check before it is called again", err)
			}
		}()
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if t.own == ownSignIn {
		return t.callSignIn(ctx)
	}
	if t.own != "" {
		if _, err := t.argsOf(args); err != nil {
			return tool.Output{}, err
		}
	}
	asked := 0
	for try := 0; ; try++ {
		var again bool
		out, again, err = t.try(ctx, args)
		if t.from.signsIn(ctx, err) {
			if err := t.from.askSignIn(ctx, asked); err != nil {
				return tool.Output{}, err
			}
			asked, try = asked+1, -1
			continue
		}
		if err == nil || !again || try >= len(pauses) || ctx.Err() != nil {
			return out, err
		}
		if errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, errForgotten) {
			continue // the server is there
		}
		pause := time.NewTimer(pauses[try])
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return tool.Output{}, ctx.Err()
		}
	}
}

// try calls once. again says that the call may be repeated.
func (t *Tool) try(ctx context.Context, args json.RawMessage) (out tool.Output, again bool, err error) {
	s := t.from
	asks := s.asksUsers(ctx)
	if asks {
		if l := s.calls.take(tool.CallOf(ctx).Key()); l != nil {
			return t.attend(ctx, l)
		}
	}
	one, err := s.session(ctx)
	if err != nil {
		_, refused := errors.AsType[*net.OpError](err)
		return out, refused, err
	}
	switch {
	case !asks || one.ofNewEra():
		return t.send(ctx, one, args)
	case t.lost(ctx):
		return out, false, fault(t.server, event.ErrUnavailable, "no longer waits for the answer to its question"+inDoubt,
			"check before it is called again", nil)
	}
	return t.keepOpen(ctx, one, args)
}

// send sends the call, again with what its server asked for, until there is a result.
func (t *Tool) send(ctx context.Context, one *session, args json.RawMessage) (out tool.Output, again bool, err error) {
	r := &round{meta: metaOf(ctx)}
	if tool.CallOf(ctx) != nil {
		stop := t.watch(ctx, one, r)
		defer stop()
	}
	for range mostRounds {
		var w *wanted
		out, w, again, err = t.once(ctx, one, args, r)
		if w == nil {
			return out, again, err
		}
		if err := t.from.answer(ctx, r, w); err != nil {
			return tool.Output{}, false, err
		}
	}
	return tool.Output{}, false, fault(t.server, event.ErrInvalid, fmt.Sprintf("wanted more %d times", mostRounds), "do without this tool", nil)
}

// once sends the call once. wanted is what the server wants first; nil if it has answered.
func (t *Tool) once(
	ctx context.Context, one *session, args json.RawMessage, r *round,
) (out tool.Output, w *wanted, again bool, err error) {
	s := t.from
	inner, f := withFlight(ctx)
	defer f.land()
	defer context.AfterFunc(s.life, func() { f.fail(errClosed) })()
	defer one.addOpen(openCallOf(ctx), f)()
	one.traffic.calls.Add(1)
	res, err := t.request(inner, one.cs, args, r)
	if inner.Err() != nil && f.wasSent() && f.result() == nil {
		one.traffic.notices.Add(1) // which the SDK is about to send
	}
	one.traffic.calls.Add(-1)
	raw := f.result()
	switch joined, ok := res.(json.RawMessage); {
	case err != nil:
	case ok:
		raw = joined
	case raw == nil: // the SDK had it in its cache
		raw, err = json.Marshal(res)
	}
	// The answer is read as the server wrote it. The SDK refuses kinds of content
	// that it does not know; they are results too.
	if err == nil || raw != nil && ctx.Err() == nil && f.failure() == nil && !broken(err) && serverError(err, f) == nil {
		w, bad := wantedIn(raw)
		if w != nil {
			return out, w, false, nil
		}
		if bad == nil {
			out, bad = t.read(raw)
		}
		if bad == nil {
			s.hideIn(&out)
			s.showMeta(ctx, raw)
			return out, nil, false, nil
		}
		return out, nil, false, fault(t.server, event.ErrInvalid, "gave a result that cannot be read", "look at its log",
			s.quiet(errors.Join(bad, err)))
	}
	forgotten := one.forgotten(err, f)
	words := f.refused()
	if e := serverError(err, f); e != nil {
		if w := wantedVisits(e); w != nil && ctx.Err() == nil {
			return out, w, false, nil
		}
		words = e.Message
	}
	if words != "" && !forgotten && ctx.Err() == nil && f.failure() == nil {
		// The server's own words: the model may mend its call.
		left := s.options.TextBytes
		out = tool.Text("Error: " + boundText(s.hide(words), &left))
		out.IsError = true
		return out, nil, false, nil
	}
	again, err = t.failed(ctx, one, f, err, forgotten)
	return out, nil, again, err
}

// failed returns the error of a call that got no answer, and whether it may be repeated.
func (t *Tool) failed(ctx context.Context, one *session, f *flight, err error, forgotten bool) (again bool, fail error) {
	s := t.from
	if ctx.Err() == nil && one.p != nil {
		// A child that is dying takes a moment; how it ended belongs to the error.
		one.p.within(100 * time.Millisecond)
	}
	if forgotten {
		err = errors.Join(errForgotten, err)
	}
	missing := forgotten || errors.Is(err, mcp.ErrSessionMissing)
	fail = s.transportFault(ctx, err, f, one.p, "while the tool ran")
	if broken(err) || forgotten || !one.alive() || one.p != nil && errors.Is(err, io.EOF) {
		s.drop(one)
	}
	switch {
	case f.failure() != nil: // too large, or closed: it would be so again
	case missing:
		again = true
	case !f.wasSent():
		again = true
	case t.traits.Effect == event.EffectPure, t.traits.Effect == event.EffectIdempotent:
		again = f.lastStatus() < 300
	}
	return again, fail
}

// progressToken is the name in _meta for which a server sends progress.
const progressToken = "progressToken"

// watch passes the server's progress on. What is not taken in time is replaced
// by what comes after it: a slow reader holds up neither the server nor other calls.
func (t *Tool) watch(ctx context.Context, one *session, r *round) (stop func()) {
	news := make(chan string, 1)
	token, unlisten := one.listen(func(p *mcp.ProgressNotificationParams) {
		text := t.from.hide(progressText(p))
		for {
			select {
			case news <- text:
				return
			default:
			}
			select {
			case <-news:
			default:
			}
		}
	})
	if r.meta == nil {
		r.meta = mcp.Meta{}
	}
	r.meta[progressToken] = token
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case text := <-news:
				tool.Progress(progressFor(ctx), text)
			case <-done:
				return
			}
		}
	}()
	return func() {
		unlisten()
		close(done)
		<-ended
	}
}
