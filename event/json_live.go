package event

// The bodies of live events: pieces of what is not in the log yet.

func (w *encoder) textDelta(b *TextDelta) {
	if !w.open(b != nil, KindTextDelta) {
		return
	}
	w.str(`"text":`, b.Text)
	w.int(`"block":`, int64(b.Block))
	w.end()
}

func (r *decoder) textDelta() *TextDelta {
	b := new(TextDelta)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "text":
			b.Text = r.String()
		case "block":
			b.Block = r.Int()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) thinkingDelta(b *ThinkingDelta) {
	if !w.open(b != nil, KindThinkingDelta) {
		return
	}
	w.str(`"text":`, b.Text)
	w.int(`"block":`, int64(b.Block))
	w.end()
}

func (r *decoder) thinkingDelta() *ThinkingDelta {
	b := new(ThinkingDelta)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "text":
			b.Text = r.String()
		case "block":
			b.Block = r.Int()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) toolInputDelta(b *ToolInputDelta) {
	if !w.open(b != nil, KindToolInputDelta) {
		return
	}
	w.str(`"call":`, b.Call)
	w.str(`"tool":`, b.Tool)
	w.str(`"json":`, b.JSON)
	w.int(`"block":`, int64(b.Block))
	w.end()
}

func (r *decoder) toolInputDelta() *ToolInputDelta {
	b := new(ToolInputDelta)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "call":
			b.Call = r.String()
		case "tool":
			b.Tool = r.String()
		case "json":
			b.JSON = r.String()
		case "block":
			b.Block = r.Int()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) toolProgress(b *ToolProgress) {
	if !w.open(b != nil, KindToolProgress) {
		return
	}
	w.str(`"call":`, b.Call)
	w.str(`"tool":`, b.Tool)
	w.strOpt(`"text":`, b.Text)
	w.rawOpt(`"data":`, b.Data)
	w.end()
}

func (r *decoder) toolProgress() *ToolProgress {
	b := new(ToolProgress)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "call":
			b.Call = r.String()
		case "tool":
			b.Tool = r.String()
		case "text":
			b.Text = r.String()
		case "data":
			b.Data = r.raw()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) answerReplaced(b *AnswerReplaced) {
	if !w.open(b != nil, KindAnswerReplaced) {
		return
	}
	w.str(`"text":`, b.Text)
	w.int(`"block":`, int64(b.Block))
	w.end()
}

func (r *decoder) answerReplaced() *AnswerReplaced {
	b := new(AnswerReplaced)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "text":
			b.Text = r.String()
		case "block":
			b.Block = r.Int()
		default:
			o.Unknown()
		}
	}
	return b
}
