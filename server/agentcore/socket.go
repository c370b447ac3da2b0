package agentcore

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

const (
	// socketFrame is the maximum frame size that the platform accepts.
	socketFrame = 32 << 10
	// socketAhead is the maximum number of messages that wait for the current one.
	socketAhead = 8
)

// socket serves a WebSocket: each incoming message is the body of an invocation, each outgoing
// one the value of a frame. It processes messages one at a time in one session. Closing the
// socket cancels the run.
func (x *exchange) socket() error {
	session := x.R.Header.Get(sessionHeader)
	if session == "" { // a page in a browser cannot set headers
		session = x.R.URL.Query().Get("X-Amzn-Bedrock-AgentCore-Runtime-Session-Id")
	}
	if err := x.inSession(session); err != nil {
		return err
	}
	if !strings.EqualFold(x.R.Header.Get("Upgrade"), "websocket") {
		x.W.Header().Set("Upgrade", "websocket")
		return &fault{http.StatusUpgradeRequired, validation, "this path is a WebSocket", "ask for an upgrade"}
	}
	x.h.behind.Add(1)
	defer x.h.behind.Done()
	conn, err := websocket.Accept(x.W, x.R, &websocket.AcceptOptions{
		Subprotocols: []string{tokenProtocol}, InsecureSkipVerify: true, // serve has checked the Origin
	})
	if err != nil {
		x.Status = http.StatusBadRequest // Accept has responded
		return nil
	}
	x.Status = http.StatusSwitchingProtocols
	defer func() { _ = conn.CloseNow() }() // after an orderly close this does nothing
	conn.SetReadLimit(min(x.h.options.BodyBytes, x.h.service.Memory().MostBody()))
	watched, unwatch := x.h.entry.Watch(x.R.Context(), &x.Who)
	defer unwatch()
	ctx, leave := context.WithCancel(watched)
	defer leave()
	defer context.AfterFunc(x.h.ends, leave)()
	reading, halt := context.WithCancel(x.R.Context()) // cancelling it closes the connection
	messages := make(chan message, socketAhead)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer leave() // a client that stops reading has left
		for {
			m, err := x.message(reading, halt, conn)
			if err != nil {
				return
			}
			select {
			case messages <- m:
			default:
				m.hold.Release()
				_ = conn.Close(websocket.StatusPolicyViolation, "too many messages wait") // the connection ends either way
				return
			}
		}
	}()
	defer func() {
		halt()
		<-read
		for len(messages) > 0 {
			m := <-messages
			m.hold.Release()
		}
	}()
	for {
		select {
		case m := <-messages:
			if !x.talk(ctx, conn, m) && x.h.ends.Err() == nil && door.Ended(ctx) == nil {
				_ = conn.Close(websocket.StatusInternalError, "the server ends the stream") // the connection ends either way
				return nil
			}
		case <-ctx.Done():
			if ended := door.Ended(ctx); ended != nil {
				_ = conn.Close(websocket.StatusPolicyViolation, ended.Message) // the connection ends either way
			} else if x.h.ends.Err() != nil {
				_ = conn.Close(websocket.StatusGoingAway, "the server ends") // the connection ends either way
			}
			return nil
		}
	}
}

// message is one message of a socket.
type message struct {
	data []byte
	hold *service.Hold
}

// message reads the next message. From its first frame on it may take as long as a body. A
// refused message closes the socket.
func (x *exchange) message(ctx context.Context, halt func(), conn *websocket.Conn) (message, error) {
	_, from, err := conn.Reader(ctx)
	if err != nil {
		return message{}, err
	}
	late := time.AfterFunc(x.h.options.BodyTime, halt)
	defer late.Stop()
	hold := x.h.service.Memory().Hold(x.Who.Tenant)
	data, err := hold.Body(ctx, from, -1, x.h.options.BodyBytes)
	if err == nil {
		return message{data, hold}, nil
	}
	hold.Release()
	if e, ok := errors.AsType[*event.Error](err); ok {
		status := websocket.StatusTryAgainLater
		if e.Kind == event.ErrTooLarge {
			status = websocket.StatusMessageTooBig
		}
		_ = conn.Close(status, e.Message) // the connection ends either way
	}
	return message{}, err
}

// talk processes one message. It reports an invalid message to the client, and the next one may
// be valid. false means that the service no longer works.
func (x *exchange) talk(ctx context.Context, conn *websocket.Conn, m message) bool {
	defer m.hold.Release()
	send := func(buf []byte) error {
		for frame := range bytes.SplitSeq(bytes.TrimSuffix(buf, []byte("\n\n")), []byte("\n\n")) {
			if err := x.sendMessage(conn, bytes.TrimPrefix(frame, []byte("data: "))); err != nil {
				return err
			}
		}
		return nil
	}
	in, err := x.parse(m.data)
	m.data = nil
	var t *turn
	if err == nil && in.action != "" && x.h.options.Debug {
		err = front.Bad("actions are for POST /invocations", "send a prompt")
	}
	if err == nil {
		err = x.h.entry.Pass(ctx, &x.Who, http.Header{})
	}
	if err == nil {
		in.run.Key = "" // the request's key would be the same for all messages
		t, err = x.begin(ctx, in)
	}
	m.hold.Release()
	if err != nil {
		f, body := x.explain(err)
		x.Count(err, f.status, codeOf(err, f))
		if b, err := marshal(body); err == nil {
			_ = send(b) // a client that has left is noticed by reading
		}
		return !errors.Is(err, event.ErrUnavailable)
	}
	defer t.close()
	err = t.Send(ctx, func(b []byte, _ time.Time) error { return send(b) })
	x.Interrupted(ctx, err)
	return err == nil
}

// sendMessage sends one message in frames that the platform accepts. Cancelling the run does not
// cancel it, because that would close the connection.
func (x *exchange) sendMessage(conn *websocket.Conn, b []byte) error {
	ctx, stop := context.WithTimeout(x.R.Context(), x.h.options.WriteTime)
	defer stop()
	w, err := conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for len(b) > 0 {
		n := min(len(b), socketFrame)
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return w.Close()
}
