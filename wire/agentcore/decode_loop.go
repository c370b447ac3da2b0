package agentcore

import "time"

// Events of the agent's loop: the provider's pieces and counts.

// chunk reads a chunk of the model's provider.
func (r *Reader) chunk(s *scanner, it *Item) {
	r.state.loop = true
	s.object()
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		switch string(k) {
		case "contentBlockDelta":
			r.delta(s, it)
		case "messageStart":
			it.Kind = KindMessageStart
			r.messageStart(s, it)
		case "contentBlockStart":
			r.blockStart(s, it)
		case "contentBlockStop":
			it.Kind = KindBlockStop
			each(s, func(k string) bool {
				if k == "contentBlockIndex" {
					it.Block = int(s.count())
				}
				return k == "contentBlockIndex"
			})
			r.inputEnded(it)
		case "messageStop":
			it.Kind = KindMessageStop
			each(s, func(k string) bool {
				if k == "stopReason" {
					it.Stop = s.word()
				}
				return k == "stopReason"
			})
			r.state.over = it.Stop != "tool_use"
		case "metadata":
			r.metadata(s, it)
		case "redactContent":
			it.Kind = KindOther
			each(s, func(k string) bool {
				if k != "redactAssistantContentMessage" {
					return false
				}
				it.Kind, it.Text = KindReplaced, s.text(&r.scratch)
				return true
			})
		default:
			s.skip()
		}
	}
}

// messageStart starts a message.
func (r *Reader) messageStart(s *scanner, it *Item) {
	each(s, func(k string) bool {
		if k == "role" {
			it.Role = s.word()
		}
		return k == "role"
	})
	st := &r.state
	st.over, st.raw, st.thinks, st.inputs = false, false, false, false
	st.last = st.last[:0]
	clear(st.blocks)
	clear(st.fragments)
}

// delta reads a piece, the most frequent event.
func (r *Reader) delta(s *scanner, it *Item) {
	if !s.object() {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			break
		}
		switch string(k) {
		case "delta":
			if !s.object() {
				continue
			}
			for {
				k, ok := s.key()
				if !ok {
					break
				}
				switch string(k) {
				case "text":
					it.Kind, it.Text = KindText, s.text(&r.scratch)
					r.state.raw = true
					r.state.last = append(r.state.last[:0], it.Text...)
				case "toolUse":
					it.Kind = KindToolInput
					r.state.inputs = true
					r.nested(s, it, "input")
				case "reasoningContent":
					it.Kind = KindThinking
					r.state.thinks = true
					r.nested(s, it, "text")
				default:
					s.skip()
				}
			}
		case "contentBlockIndex":
			it.Block = int(s.count())
		default:
			s.skip()
		}
	}
	if it.Kind == KindToolInput && !s.bad {
		if r.state.fragments == nil {
			r.state.fragments = map[int][]byte{}
		}
		if have := r.state.fragments[it.Block]; len(have)+len(it.Text) <= r.limit {
			r.state.fragments[it.Block] = append(have, it.Text...)
		}
		if u := r.state.blocks[it.Block]; u != nil {
			it.Tools = []*ToolUse{u}
		}
	}
}

// nested reads the text under a key.
func (r *Reader) nested(s *scanner, it *Item, name string) {
	if !s.object() {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		if string(k) == name {
			it.Text = s.text(&r.scratch)
			continue
		}
		s.skip()
	}
}

func (r *Reader) blockStart(s *scanner, it *Item) {
	it.Kind = KindBlockStart
	var u ToolUse
	has := false
	each(s, func(k string) bool {
		switch k {
		case "contentBlockIndex":
			it.Block = int(s.count())
		case "start":
			each(s, func(k string) bool {
				if k == "toolUse" {
					u, has = r.toolUse(s, it), true
				}
				return has
			})
		default:
			return false
		}
		return true
	})
	if !has || s.bad {
		return
	}
	u.Input = nil
	have := r.tools.add(u)
	if r.state.blocks == nil {
		r.state.blocks = map[int]*ToolUse{}
	}
	r.state.blocks[it.Block] = have
	it.Tools = []*ToolUse{have}
}

// inputEnded joins the pieces of a call's input.
func (r *Reader) inputEnded(it *Item) {
	u := r.state.blocks[it.Block]
	if u == nil {
		return
	}
	it.Tools = []*ToolUse{u}
	if raw := r.state.fragments[it.Block]; len(raw) > 0 {
		u.Input = r.json(it, raw)
	}
}

// inputSoFar reads Strands' copy of a piece of a tool's input.
func (r *Reader) inputSoFar(it *Item, raw []byte) {
	s := scanner{b: raw}
	it.Kind, it.Repeats = KindToolInput, r.state.inputs
	u := r.toolUse(&s, it)
	u.Input, it.Anomaly = nil, "" // the input is an incomplete string so far
	it.Tools = []*ToolUse{r.tools.add(u)}
}

func (*Reader) metadata(s *scanner, it *Item) {
	it.Kind = KindMetadata
	each(s, func(k string) bool {
		switch k {
		case "usage":
			each(s, func(k string) bool {
				switch k {
				case "inputTokens":
					it.Usage.Input = s.count()
				case "outputTokens":
					it.Usage.Output = s.count()
				case "totalTokens":
					it.Usage.Total = s.count()
				case "cacheReadInputTokens":
					it.Usage.CacheRead = s.count()
				case "cacheWriteInputTokens":
					it.Usage.CacheWrite = s.count()
				default:
					return false
				}
				return true
			})
		case "metrics":
			each(s, func(k string) bool {
				switch k {
				case "latencyMs":
					it.Latency = milliseconds(s)
				case "timeToFirstByteMs":
					it.FirstByte = milliseconds(s)
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
}

// longest is the maximum duration that the reader accepts: a year.
const longest = 365 * 24 * time.Hour

func milliseconds(s *scanner) time.Duration {
	ms := s.number()
	return min(max(time.Duration(min(max(ms, 0), float64(longest/time.Millisecond))*float64(time.Millisecond)), 0), longest)
}
