package bedrock

import (
	"net/http"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/reqcache"
)

// history is an encoded conversation.
type history = reqcache.History[encoder, *encoder]

// edit replaces a span of the encoding.
type edit struct {
	span

	in string
}

// asked is an encoded request.
type asked struct {
	body []byte
	// tail is the offset of the part after the messages; fields are the model's own parameters.
	tail   int
	fields []byte
	// header holds additional header fields.
	header http.Header
	// kept records which thinking of the history is in the body.
	kept bound.Kept
}

// request encodes a request. without leaves out all thinking of the history, because the vendor
// refused it.
//
// The body begins with the members in the order in which models cache them: tools,
// instructions, messages. The members that may change from call to call follow. So the next
// body begins with the same bytes, except for the cache points that have moved.
func (m *Model) request(req *model.Request, without bool) (asked, error) {
	if req == nil || len(req.Messages) == 0 {
		return asked{}, notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a message")
	}
	if err := m.unsupported(req.Messages); err != nil {
		return asked{}, err
	}
	if err := m.possible(req); err != nil {
		return asked{}, err
	}
	h := m.histories.Take(req)
	defer m.histories.Put(h)
	h.Encoder.family = &m.family
	if m.family.binds {
		h.Encoder.chain.Bind()
	}
	h.Update(req.Messages)
	if without {
		h.Encoder.chain.Refuse()
	}
	shown, choose := m.choice(req, h.Encoder.ids.Any() || m.wasServed(req.Messages))
	top, err := h.Encoder.head.Of(&shown, func(head) (head, error) { return m.newHead(&shown) })
	if err != nil {
		return asked{}, err
	}
	served, err := m.served(req)
	if err != nil {
		return asked{}, err
	}
	tools := withServed(top.tools, served)
	tail, err := m.tail(req, len(tools) > 0, without)
	if err != nil {
		return asked{}, err
	}
	added, err := header(&req.Options)
	if err != nil {
		return asked{}, err
	}
	system := top.system
	var front []byte
	if m.family.noSystem && strings.TrimSpace(req.Instructions) != "" {
		front = append(strictjson.AppendString([]byte(`{"text":`), req.Instructions), `},`...)
	}
	e := &h.Encoder
	kept := e.chain.Keep([]byte("converse:"+m.name), tools, system, front)
	var edits []edit
	for _, s := range kept.Drop {
		edits = append(edits, edit{span: span{s.From, s.To}})
	}
	for _, s := range m.latest(h) {
		edits = append(edits, edit{span: s, in: `{"guardContent":{"text":` + string(e.dst[s.from:s.to]) + `}}`})
	}
	for _, at := range m.points(h) {
		at -= len(shut)
		edits = append(edits, edit{span: span{at, at}, in: "," + m.point()})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	b := make([]byte, 0, len(tools)+len(choose)+len(system)+len(front)+len(e.dst)+len(tail.text)+len(edits)*48+64)
	b = append(b, '{')
	if len(tools) > 0 {
		b = append(append(append(append(b, `"toolConfig":{`...), tools...), choose...), `},`...)
	}
	b = append(b, system...)
	b = append(b, `"messages":[`...)
	from := 0
	if len(front) > 0 {
		b = append(append(b, userOpen...), front...)
		from = len(userOpen)
	}
	for _, x := range edits {
		b = append(append(b, e.dst[from:x.from]...), x.in...)
		from = x.to
	}
	b = append(b, e.dst[from:len(e.dst)-1]...)
	b = append(b, ']')
	return asked{body: append(b, tail.text...), tail: len(b), fields: tail.fields, header: added, kept: kept}, nil
}

// points returns the ends of the messages that get a cache point, in order. There are at most
// three, because the instructions have one. The newest message ends this request, and each
// earlier user message ended a request. So the cached prefix is found, however long the turn
// after it is.
func (m *setup) points(h *history) []int {
	if !m.caches() {
		return nil
	}
	const most = 3
	var points []int
	for i := h.Len() - 1; i >= 0 && len(points) < most; i-- {
		role, at := h.At(i)
		if role != event.RoleAssistant && h.Encoder.said[i].cacheable {
			points = append(points, at.End)
		}
	}
	slices.Reverse(points)
	return points
}

// latest returns the positions of the only texts that the guardrail checks.
func (m *setup) latest(h *history) []span {
	if m.guard == nil || !m.guard.Latest {
		return nil
	}
	for i := h.Len() - 1; i >= 0; i-- {
		if s := h.Encoder.said[i]; s.asks {
			return s.spans
		}
	}
	return nil
}
