package mcptool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

const (
	// mostParked bounds the calls of one server that wait for users.
	mostParked = 100
	// parkedFor is how long such a call waits.
	parkedFor = 30 * time.Minute
)

// openCall is a call to a server that speaks a revision before 2026-07-28: it asks in the middle of the call, and waits for
// the answer. While a user thinks, the call stays open at the server, and the attempt of the tool ends. The attempt after the
// answer goes on with it. In another process there is none; see [Tool.lost].
type openCall struct {
	from      *server
	cancel    context.CancelFunc
	questions chan *asking
	done      chan struct{}
	// out, again and err are the result, once done is closed.
	out   tool.Output
	again bool
	err   error

	// asked are the questions so far. They belong to the attempt that attends to the call.
	asked []*asking
	timer *time.Timer

	mu sync.Mutex
	// current is the context of the attempt that attends to the call.
	current context.Context //nolint:containedctx // attempts come and go
}

// asking is a question of a server that waits for its answer.
type asking struct {
	params   *mcp.ElicitParams
	reply    chan *mcp.ElicitResult
	answered bool
}

type openCallKey struct{}

// openCallOf returns the open call whose request ctx is for; nil for none.
func openCallOf(ctx context.Context) *openCall {
	l, _ := ctx.Value(openCallKey{}).(*openCall)
	return l
}

// openCalls are those of a server that wait for users, by the keys of their calls.
type openCalls struct {
	mu     sync.Mutex
	parked map[string]*openCall
}

// take removes the call of this key; nil if there is none.
func (o *openCalls) take(key string) *openCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.parked[key]
	delete(o.parked, key)
	if l != nil {
		l.timer.Stop()
	}
	return l
}

// put keeps a call for a while. It reports false if too many wait.
func (o *openCalls) put(key string, l *openCall) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.parked) >= mostParked {
		return false
	}
	if o.parked == nil {
		o.parked = map[string]*openCall{}
	}
	o.parked[key] = l
	l.timer = time.AfterFunc(parkedFor, func() {
		o.mu.Lock()
		mine := o.parked[key] == l
		if mine {
			delete(o.parked, key)
		}
		o.mu.Unlock()
		if mine {
			l.cancel()
		}
	})
	return true
}

// end cancels all calls that wait.
func (o *openCalls) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.parked {
		l.timer.Stop()
		l.cancel()
	}
	clear(o.parked)
}

// waiting counts the calls that wait.
func (o *openCalls) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.parked)
}

// keepOpen calls the tool so that the call may stay open while a user is asked.
func (t *Tool) keepOpen(ctx context.Context, one *session, args []byte) (tool.Output, bool, error) {
	s := t.from
	l := &openCall{from: s, questions: make(chan *asking), done: make(chan struct{}), current: ctx}
	inner, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), openCallKey{}, l))
	l.cancel = cancel
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		cancel()
		return tool.Output{}, false, fault(s.config.Name, event.ErrGone, "is closed", "connect to it again", nil)
	}
	s.work.Go(func() {
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		l.out, l.again, l.err = t.send(inner, one, args)
		close(l.done)
	})
	s.mu.Unlock()
	return t.attend(ctx, l)
}

// attend passes the questions of a call on to its user until the call has ended, or waits.
func (t *Tool) attend(ctx context.Context, l *openCall) (tool.Output, bool, error) {
	l.mu.Lock()
	l.current = ctx
	l.mu.Unlock()
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	for i := 0; ; i++ {
		if i == len(l.asked) {
			select {
			case <-l.done:
				return l.ended(ctx)
			case q := <-l.questions:
				l.asked = append(l.asked, q)
			}
		}
		q := l.asked[i]
		reply, err := l.from.askUser(ctx, i+1, q.params)
		switch {
		case errors.Is(err, tool.ErrWaits):
			if !stop() {
				<-l.done
				return l.ended(ctx)
			}
			if !l.from.calls.put(tool.CallOf(ctx).Key(), l) {
				l.cancel()
				<-l.done
				return tool.Output{}, false, fault(l.from.config.Name, event.ErrUnavailable, "asks too many users at once"+inDoubt,
					"try again later", nil)
			}
			return tool.Output{}, false, tool.ErrWaits
		case q.answered:
		case err != nil:
			q.answered = true
			q.reply <- &mcp.ElicitResult{Action: actionCancel}
		default:
			q.answered = true
			q.reply <- reply
		}
	}
}

// ended returns the result of a call that has ended.
func (l *openCall) ended(ctx context.Context) (tool.Output, bool, error) {
	if ctx.Err() != nil && l.err != nil {
		return tool.Output{}, false, ctx.Err()
	}
	return l.out, l.again, l.err
}

// ask passes a question on to whoever attends to the call, and waits for the answer.
func (l *openCall) ask(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if _, err := l.from.elicitationOf(p); err != nil {
		return nil, err
	}
	q := &asking{params: p, reply: make(chan *mcp.ElicitResult, 1)}
	select {
	case l.questions <- q:
	case <-l.done:
		return nil, errOver
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case reply := <-q.reply:
		return reply, nil
	case <-l.done:
		return nil, errOver
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errOver is what a server is told that asks for a call that has ended.
var errOver = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the call has ended"}

// progressFor returns the context of the attempt that shows the progress of a request.
func progressFor(ctx context.Context) context.Context {
	l := openCallOf(ctx)
	if l == nil {
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// lost reports whether the call was open when its user was asked, and is not any more: its process has ended, or the user
// took too long. A tool that may be repeated is called again, and asks the same.
func (t *Tool) lost(ctx context.Context) bool {
	return t.traits.Effect != event.EffectPure && t.traits.Effect != event.EffectIdempotent &&
		slices.ContainsFunc(tool.AskedBefore(ctx), func(name string) bool { return strings.HasPrefix(name, ElicitationQuestion) })
}

// ofNewEra reports whether a session speaks a revision whose servers ask with a result.
func (one *session) ofNewEra() bool { return one.cs.InitializeResult().ProtocolVersion > lastEra }

// addOpen notes a request that is on its way, so that questions find their call.
func (one *session) addOpen(l *openCall, f *flight) (remove func()) {
	if l == nil {
		return func() {}
	}
	one.mu.Lock()
	if one.open == nil {
		one.open = map[*openCall]*flight{}
	}
	one.open[l] = f
	one.mu.Unlock()
	return func() {
		one.mu.Lock()
		delete(one.open, l)
		one.mu.Unlock()
	}
}

// openFor returns the call that a question belongs to; nil if that is not certain. Over HTTP the question comes on the
// stream of its call. Other transports do not say, so it is the only call that is under way.
func (one *session) openFor(p *mcp.ElicitParams) *openCall {
	one.mu.Lock()
	defer one.mu.Unlock()
	var found *openCall
	n := 0
	for l, f := range one.open {
		if f.carried(questionKey(p)) {
			found, n = l, n+1
		}
	}
	if n == 0 && len(one.open) == 1 && one.traffic.calls.Load() == 1 {
		for l := range one.open {
			return l
		}
	}
	if n != 1 {
		return nil
	}
	return found
}

// questionKey stands for a question.
func questionKey(p *mcp.ElicitParams) string {
	return p.Message + "\x00" + p.URL + "\x00" + p.ElicitationID
}

// receive answers requests of servers: it refuses sampling, and has users answer questions.
func (s *server) receive(one *session) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch {
			case method == methodSample:
				return nil, &jsonrpc.Error{Code: codeRejected, Message: refusedSampling}
			case method != methodElicit:
				return next(ctx, method, req)
			}
			r, ok := req.(*mcp.ElicitRequest)
			if !ok {
				return next(ctx, method, req)
			}
			if err := checkForm(r); err != nil {
				return nil, err
			}
			if !s.options.ElicitAsQuestion || s.options.Elicit != nil || r.Params == nil {
				return next(ctx, method, req)
			}
			l := one.openFor(r.Params)
			if l == nil {
				return nil, &jsonrpc.Error{
					Code: jsonrpc.CodeInvalidRequest, Message: "no user can be asked: it is not clear for which call",
				}
			}
			return l.ask(ctx, r.Params)
		}
	}
}
