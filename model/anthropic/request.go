package anthropic

import (
	"net/http"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/bound"
	"github.com/braidrun/braid/model/internal/reqcache"
	"github.com/braidrun/braid/model/internal/toolname"
)

// asked is an encoded request.
type asked struct {
	body []byte
	// header holds additional header fields; it may be nil.
	header http.Header
	// names maps tool names that were changed for the wire back to the agent's.
	names map[string]string
	// kept records which thinking of the history is in the body.
	kept bound.Kept
	// open is the encoded content so far of a message that the model continues; nil if the
	// model begins a new message.
	open []byte
	// compacts is set if the vendor's summaries are sent back.
	compacts bool
}

// request encodes a request. without leaves out all thinking of the history, because the vendor
// refused it.
//
// The body begins with the members in the order in which the API caches them: model, tools,
// instructions, messages. The members that may change from call to call follow. So the next
// body begins with the same bytes, up to the end of these messages.
func (m *Model) request(req *model.Request, without bool) (asked, error) {
	if req == nil || len(req.Messages) == 0 {
		return asked{}, notSent(event.ErrInvalid, "there is nothing to ask the model", "give it a message")
	}
	req = m.filled(req)
	if err := m.unsupported(req); err != nil {
		return asked{}, err
	}
	if messages := settled(req.Messages); len(messages) > 0 && &messages[0] != &req.Messages[0] {
		mended := *req
		mended.Messages, req = messages, &mended
	}
	header, err := m.header(req)
	if err != nil {
		return asked{}, err
	}
	tail, err := m.tail(req, without)
	if err != nil {
		return asked{}, err
	}
	h := m.kept.Take(req)
	defer m.kept.Put(h)
	head, err := h.Encoder.head.of(m, req)
	if err != nil {
		return asked{}, err
	}
	messages, changes, err := m.changed(req, h.Encoder.changes)
	if err != nil {
		return asked{}, err
	}
	if compacts := req.Options.Context.Compact > 0; h.Encoder.compacts != compacts {
		h.Update(nil) // encode everything again
		h.Encoder.compacts = compacts
	}
	h.Encoder.changes = changes
	h.Encoder.files = m.onCloud()
	if binds(m.name) {
		h.Encoder.chain.Bind()
	}
	h.Update(messages)
	if without {
		h.Encoder.chain.Refuse()
	}
	kept := h.Encoder.chain.Keep([]byte(m.identity()), head)
	dst, drop := h.Encoder.dst, kept.Drop
	var open []byte
	if n := len(messages); messages[n-1].Role == event.RoleAssistant {
		if kept, open = h.Encoder.chain.Continue(kept, dst); open != nil {
			open = append(open[:len(open)-len("]},")], ',')
		}
	}
	points := m.points(h)
	point := m.cachePoint()
	body := make([]byte, 0, len(head)+len(dst)+len(tail)+len(points)*(len(point)+1)+8)
	body = append(body, m.bare(head)...)
	from := 0
	upTo := func(end int) {
		for len(drop) > 0 && drop[0].From < end {
			body = append(body, dst[from:drop[0].From]...)
			from, drop = drop[0].To, drop[1:]
		}
		body = append(body, dst[from:end]...)
		from = end
	}
	for _, at := range points {
		// A message ends with the brace of its last block, and "]},".
		upTo(at - len("}]},"))
		body = append(body, ',')
		body = append(body, point...)
	}
	upTo(len(dst) - 1)
	body = append(body, ']')
	return asked{
		body: append(body, tail...), names: toolNames.Back(req.Tools), kept: kept, header: header, open: open, compacts: h.Encoder.compacts,
	}, nil
}

// identity returns the platform and the model's name, which thinking is bound to. The thinking of
// Sonnet 5.5 and Haiku 5.5 is also bound to its account
// (build-with-claude/preserved-thinking#account-bound-thinking).
func (m *Model) identity() string {
	switch {
	case m.aws != nil:
		return "bedrock:" + m.name
	case m.google != nil:
		return "vertex:" + m.name
	default:
		return "anthropic:" + m.name
	}
}

// toolNames is the API's rule for tool names: ^[a-zA-Z0-9_-]{1,64}$.
var toolNames = toolname.Usual

// callIDs is the API's rule for the ids of tool calls: ^[a-zA-Z0-9_-]+$.
var callIDs = toolname.IDRule{}

// cachePoint returns the member that makes a block or a request a cache point.
func (m *Model) cachePoint() string {
	if m.hour {
		return `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `"cache_control":{"type":"ephemeral"}`
}

// points returns the ends of the messages that get a cache point, in order. There are at most
// three, because the instructions have one and the API also counts the automatic one.
func (m *Model) points(h *reqcache.History[encoder, *encoder]) []int {
	if m.cache == CacheOff {
		return nil
	}
	n := h.Len()
	var points []int
	add := func(i int) {
		_, at := h.At(i)
		points = append(points, at.End)
	}
	// Find the last user messages. The newest ends this request; each of the others ended an
	// earlier request.
	var ends []int
	// A change of instructions or tools after a user message is part of the same request.
	answered := true
	for i := n - 1; i >= 0 && len(ends) < 3; i-- {
		role, _ := h.At(i)
		if role != event.RoleAssistant && answered {
			ends = append(ends, i)
		}
		answered = role == event.RoleAssistant
	}
	slices.Reverse(ends)
	if m.cache == CacheExplicit {
		for _, i := range ends {
			add(i)
		}
		return points
	}
	// The automatic point finds earlier cache entries within 20 blocks. If the newest turn is
	// longer, the end of the request before gets an explicit point.
	const looksBack = 18
	if len(ends) < 2 {
		return nil
	}
	last, before := ends[len(ends)-1], ends[len(ends)-2]
	blocks := 0
	for i := before + 1; i <= last; i++ {
		_, at := h.At(i)
		blocks += at.Blocks
	}
	if blocks > looksBack {
		add(before)
	}
	return points
}

// roleSystem is the role of such a message. Its blocks are [event.UnknownBlock]s of the kind
// setupBlock, whose Raw is the block's JSON.
const (
	roleSystem event.Role      = "system"
	setupBlock event.BlockKind = own + "setup"
)
