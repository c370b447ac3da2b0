package event

// The bodies of steps, and what models and people say in them.

func (w *encoder) stepBegun(b *StepBegun) {
	if !w.open(b != nil, KindStepBegun) {
		return
	}
	w.str(`"step_kind":`, string(b.Step))
	w.strOpt(`"why":`, string(b.Why))
	w.strOpt(`"model":`, b.Model)
	w.strsZero(`"tools":`, b.Tools)
	w.strOpt(`"call":`, b.Call)
	w.strOpt(`"tool":`, b.Tool)
	w.strOpt(`"effect":`, string(b.Effect))
	w.boolOpt(`"reconcile":`, b.Reconcile)
	w.rawOpt(`"args":`, b.Args)
	w.strOpt(`"runs":`, b.Runs)
	w.end()
}

func (r *decoder) stepBegun() *StepBegun {
	b := new(StepBegun)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "step_kind":
			b.Step = StepKind(r.word())
		case "why":
			b.Why = Why(r.word())
		case "model":
			b.Model = r.String()
		case "tools":
			if b.Tools = r.strings(); b.Tools == nil {
				b.Tools = []string{} // none any more
			}
		case "call":
			b.Call = r.String()
		case "tool":
			b.Tool = r.String()
		case "effect":
			b.Effect = Effect(r.word())
		case "reconcile":
			b.Reconcile = r.Bool()
		case "args":
			b.Args = r.raw()
		case "runs":
			b.Runs = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) stepEnded(b *StepEnded) {
	if !w.open(b != nil, KindStepEnded) {
		return
	}
	w.str(`"step_kind":`, string(b.Step))
	w.str(`"outcome":`, string(b.Outcome))
	if b.Result != nil {
		w.key(`"result":`)
		w.block(b.Result)
	}
	w.blocksOpt(`"shown":`, b.Shown)
	w.errOpt(`"err":`, b.Err)
	w.usageOpt(b.Usage)
	w.boolOpt(`"usage_unknown":`, b.UsageUnknown)
	w.costOpt(b.CostNanoUSD)
	w.boolOpt(`"estimated":`, b.Estimated)
	w.timeOpt(`"retry_at":`, b.RetryAt)
	w.strOpt(`"fallback":`, b.Fallback)
	w.boolOpt(`"end_turn":`, b.EndTurn)
	w.strsOpt(`"found":`, b.Found)
	w.boolOpt(`"return_direct":`, b.ReturnDirect)
	w.intOpt(`"duration_ns":`, int64(b.Duration))
	w.end()
}

func (r *decoder) stepEnded() *StepEnded {
	b := new(StepEnded)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "step_kind":
			b.Step = StepKind(r.word())
		case "outcome":
			b.Outcome = Outcome(r.word())
		case "result":
			b.Result = r.result()
		case "shown":
			b.Shown = r.blocks()
		case "err":
			b.Err = r.error()
		case "usage":
			b.Usage = r.usage()
		case "usage_unknown":
			b.UsageUnknown = r.Bool()
		case "cost_nano_usd":
			b.CostNanoUSD = r.cost()
		case "estimated":
			b.Estimated = r.Bool()
		case "retry_at":
			b.RetryAt = r.time()
		case "fallback":
			b.Fallback = r.String()
		case "end_turn":
			b.EndTurn = r.Bool()
		case "found":
			b.Found = r.strings()
		case "return_direct":
			b.ReturnDirect = r.Bool()
		case "duration_ns":
			b.Duration = r.duration()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) assistantMessage(b *AssistantMessage) {
	if !w.open(b != nil, KindAssistantMessage) {
		return
	}
	w.blocks(`"content":`, b.Content)
	w.strOpt(`"stop":`, string(b.Stop))
	w.usageOpt(b.Usage)
	w.strOpt(`"model":`, b.Model)
	w.costOpt(b.CostNanoUSD)
	w.boolOpt(`"estimated":`, b.Estimated)
	w.strOpt(`"response":`, b.Response)
	w.boolOpt(`"piece":`, b.Piece)
	w.strsOpt(`"long_running":`, b.LongRunning)
	w.boolOpt(`"hook":`, b.Hook)
	w.intOpt(`"thinking_dropped":`, int64(b.ThinkingDropped))
	w.boolOpt(`"thinking_refused":`, b.ThinkingRefused)
	w.intOpt(`"latency_ns":`, int64(b.Latency))
	w.intOpt(`"time_to_first_byte_ns":`, int64(b.TimeToFirstByte))
	w.end()
}

func (r *decoder) assistantMessage() *AssistantMessage {
	b := new(AssistantMessage)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "content":
			b.Content = r.blocks()
		case "stop":
			b.Stop = StopReason(r.word())
		case "usage":
			b.Usage = r.usage()
		case "model":
			b.Model = r.String()
		case "cost_nano_usd":
			b.CostNanoUSD = r.cost()
		case "estimated":
			b.Estimated = r.Bool()
		case "response":
			b.Response = r.String()
		case "piece":
			b.Piece = r.Bool()
		case "long_running":
			b.LongRunning = r.strings()
		case "hook":
			b.Hook = r.Bool()
		case "thinking_dropped":
			b.ThinkingDropped = r.Int()
		case "thinking_refused":
			b.ThinkingRefused = r.Bool()
		case "latency_ns":
			b.Latency = r.duration()
		case "time_to_first_byte_ns":
			b.TimeToFirstByte = r.duration()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) userMessage(b *UserMessage) {
	if !w.open(b != nil, KindUserMessage) {
		return
	}
	w.blocks(`"content":`, b.Content)
	w.strOpt(`"mail":`, b.Mail)
	w.strOpt(`"why":`, string(b.Why))
	w.end()
}

func (r *decoder) userMessage() *UserMessage {
	b := new(UserMessage)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "content":
			b.Content = r.blocks()
		case "mail":
			b.Mail = r.String()
		case "why":
			b.Why = Why(r.word())
		default:
			o.Unknown()
		}
	}
	return b
}
