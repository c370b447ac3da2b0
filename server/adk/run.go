package adk

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	seam "github.com/braidrun/braid/wire"
	wire "github.com/braidrun/braid/wire/adk"
)

// members reads an object's members, with keys in either style. null and an empty body have none. Unknown members
// are ignored, as adk-python does.
func members(body []byte, member func(key string, raw json.RawMessage) error) error {
	if text := strings.TrimSpace(string(body)); text == "" || text == "null" {
		return nil
	}
	var all map[string]json.RawMessage
	if strictjson.Check(body, strictjson.DefaultDepth) != nil || json.Unmarshal(body, &all) != nil {
		return front.Bad("the body is no JSON object", "send one, with each name once")
	}
	seen := map[string]bool{}
	for key, raw := range all {
		name := wire.Camel(key)
		if seen[name] {
			return front.Bad("the member "+name+" is there in both styles", "send it once")
		}
		seen[name] = true
		if string(raw) == "null" {
			continue
		}
		if err := member(name, raw); err != nil {
			if _, ok := err.(*event.Error); ok { //nolint:errorlint // it is one of ours, or of encoding/json
				return err
			}
			return front.Bad("the member "+name+" has a value of another kind", "look at the guide")
		}
	}
	return nil
}

// runRequest is the body of /run and /run_sse.
type runRequest struct {
	app, user, session, invocation string
	message                        *wire.Content
	streaming                      bool
	delta                          map[string]json.RawMessage
	// own are the settings of the run in customMetadata.
	own front.Settings
}

func parseRun(body []byte) (in runRequest, err error) {
	err = members(body, func(key string, raw json.RawMessage) (err error) {
		switch key {
		case "appName":
			err = json.Unmarshal(raw, &in.app)
		case "userId":
			err = json.Unmarshal(raw, &in.user)
		case "sessionId":
			err = json.Unmarshal(raw, &in.session)
		case "invocationId":
			err = json.Unmarshal(raw, &in.invocation)
		case "newMessage":
			in.message, err = wire.DecodeContent(raw)
		case "streaming":
			err = json.Unmarshal(raw, &in.streaming)
		case "stateDelta":
			err = json.Unmarshal(raw, &in.delta)
		case "customMetadata":
			in.own, err = front.SettingsOf(raw)
		}
		return err
	})
	if in.app == "" {
		in.app = DefaultApp
	}
	return in, err
}

// run answers with all events of a run as a JSON array, once it is over or waits.
func (h *handler) run(x *front.Exchange, body []byte) error {
	in, err := parseRun(body)
	if err != nil {
		return err
	}
	in.streaming = false
	ctx, unwatch := x.Watch()
	defer unwatch()
	enc := &wire.Encoder{List: true, Live: true}
	t, err := h.turn(ctx, x, &in, enc)
	if err != nil {
		return err
	}
	defer t.Follower.Close()
	x.W.Header().Set("Content-Type", "application/json")
	x.Head(http.StatusOK)
	wrote := []byte("[")
	err = t.Send(ctx, func(b []byte, _ time.Time) error {
		if len(b) == 0 {
			return nil
		}
		if len(wrote) == 0 {
			wrote = append(wrote, ',')
		}
		_, err := x.W.Write(append(wrote, b...))
		wrote = wrote[:0]
		return err
	})
	_, _ = x.W.Write(append(wrote, ']')) // who does not read it any more needs no end
	x.Interrupted(ctx, err)
	return nil
}

// runSSE streams the events of a run.
func (h *handler) runSSE(x *front.Exchange, body []byte) error {
	in, err := parseRun(body)
	if err != nil {
		return err
	}
	ctx, unwatch := x.Watch()
	defer unwatch()
	t, err := h.turn(ctx, x, &in, &wire.Encoder{Streaming: in.streaming})
	if err != nil {
		return err
	}
	defer t.Follower.Close()
	x.W.Header().Set("X-Conversation-Id", x.Conversation)
	x.W.Header().Set("X-Run-Id", x.Run)
	x.Stream(ctx, &t.Stream, wire.Wire)
	return nil
}

// turn starts a run, answers the one that waits, or goes on with the reading of one.
func (h *handler) turn(ctx context.Context, x *front.Exchange, in *runRequest, enc *wire.Encoder) (*front.Turn, error) {
	at, err := h.place(x, in.app, in.user)
	if err != nil {
		return nil, err
	}
	conv, err := h.find(ctx, &at, in.session)
	if err != nil {
		return nil, err
	}
	x.Who.Principal = at.who // from here on the request acts for that user alone
	t := &front.Turn{}
	t.Open(x, conv.ID, enc)
	switch answers, err := answersOf(in.message); {
	case err != nil:
		return nil, err
	case in.message == nil && in.invocation != "":
		err = h.goOn(ctx, x, t, in.invocation, enc)
		enc.Run = t.Story.Run
		return t, err
	case answers != nil:
		if len(in.delta) > 0 {
			return nil, front.Bad("the state cannot change while the run waits", "leave stateDelta out")
		}
		err = h.resume(ctx, t, &conv, answers, &in.own)
		enc.Answered()
		enc.Run = t.Story.Run
		return t, err
	}
	r, err := requestOf(in)
	if err != nil {
		return nil, err
	}
	in.own.Set(&r)
	if conv.Status == event.RunWaiting {
		r.Policy = braid.Interrupt // a new message ends the run that waits for an answer
	}
	if len(in.delta) > 0 {
		if err := h.patch(ctx, x, &at, conv.ID, in.delta); err != nil {
			return nil, err
		}
	}
	started, err := x.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	enc.Run = started.Run.ID
	return t, t.Begin(ctx, &started)
}

// requestOf makes the request for a run of a message.
func requestOf(in *runRequest) (r service.RunRequest, err error) {
	blocks, err := wire.Blocks(in.message)
	if err != nil {
		return r, err
	}
	if len(blocks) == 0 {
		return r, front.Bad("newMessage is missing or empty", "send parts, or invocationId to go on reading a run")
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			if len(blocks) == 1 {
				r.Input = b.Text
				return r, nil
			}
		case *event.Image, *event.Document:
		default:
			return r, front.Refusal(event.ErrUnsupported, "a part of the message is of a kind that is not taken here",
				"send text, and images and documents as inlineData")
		}
		r.Attachments = append(r.Attachments, service.Attachment{Block: b})
	}
	return r, nil
}

// answersOf returns the answers in a message; nil for a message without any.
func answersOf(c *wire.Content) (list []front.Answer, err error) {
	if c == nil {
		return nil, nil
	}
	others := false
	for i := range c.Parts {
		switch r := c.Parts[i].Response; {
		case c.Parts[i].Call != nil:
			return nil, front.Bad("the message has a functionCall", "only agents call functions")
		case r == nil:
			others = true
		case r.ID == "":
			return nil, front.Bad("a functionResponse has no id", "send the id of its functionCall")
		default:
			value, err := wire.AnswerOf(r)
			if err != nil {
				return nil, err
			}
			list = append(list, front.Answer{Token: r.ID, Value: value})
		}
	}
	if others && list != nil {
		return nil, front.Bad("the message has answers and other parts", "send the answers alone")
	}
	return list, nil
}

// resume answers the questions of the session's waiting run.
func (h *handler) resume(ctx context.Context, t *front.Turn, conv *service.Conversation, answers []front.Answer, own *front.Settings) error {
	unknown := front.Refusal(event.ErrConflict, "an answer does not belong to an open question",
		"answer each question once, with the id of its functionCall")
	open, err := h.front.Service.Questions(ctx, t.Pause.Who, conv.ID)
	if err != nil {
		return err
	}
	for i := range answers {
		for _, q := range open {
			if q.Ask == event.AskExternal && q.Call == answers[i].Token {
				answers[i].Token = q.Token
			}
		}
	}
	return t.Resume(ctx, conv, &front.Resumption{Answers: answers, Again: math.MaxInt64, Unknown: unknown, Own: own})
}

// goOn goes on with the reading of a run behind the place that Last-Event-ID names.
func (h *handler) goOn(ctx context.Context, x *front.Exchange, t *front.Turn, run string, enc *wire.Encoder) error {
	row, err := h.front.Service.GetRun(ctx, x.Who.Principal, t.Conversation, run)
	if err != nil {
		return err
	}
	t.Story.Run, x.Run = row.ID, row.ID
	place := wire.Cursor{}
	if id := x.R.Header.Get("Last-Event-ID"); id != "" {
		var ok bool
		if place, ok = wire.ParseCursor(id); !ok {
			return front.Bad("Last-Event-ID is none of this stream", "send the id of the last frame, or none")
		}
	}
	at, err := t.Skip(ctx, t.Log, place.Seq, nil)
	if err != nil {
		return err
	}
	if at < place.Seq {
		return front.Bad("Last-Event-ID is behind the end of the session", "send the id of the last frame, or none")
	}
	enc.Resume(place)
	return t.Follow(ctx, at)
}

func feedOf(enc seam.Encoder) *seam.Feed { return &seam.Feed{Encoder: enc} }
