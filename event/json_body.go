package event

import "github.com/braidrun/braid/internal/strictjson"

// How each body is written and read, side by side: the two must agree with the
// struct tags, which a test compares.

// body writes kind and body. A nil pointer in b's place is as bad as no body.
func (w *encoder) body(b Body) {
	switch b := b.(type) {
	case *TextDelta:
		w.textDelta(b)
	case *ThinkingDelta:
		w.thinkingDelta(b)
	case *ToolInputDelta:
		w.toolInputDelta(b)
	case *ToolProgress:
		w.toolProgress(b)
	case *AnswerReplaced:
		w.answerReplaced(b)
	case *StepBegun:
		w.stepBegun(b)
	case *StepEnded:
		w.stepEnded(b)
	case *AssistantMessage:
		w.assistantMessage(b)
	case *UserMessage:
		w.userMessage(b)
	case *RunStarted:
		w.runStarted(b)
	case *RunEnded:
		w.runEnded(b)
	case *ScopeOpened:
		w.scopeOpened(b)
	case *ScopeClosed:
		w.scopeClosed(b)
	case *StateChanged:
		w.stateChanged(b)
	case *ArtifactSaved:
		w.artifactSaved(b)
	case *Transferred:
		w.transferred(b)
	case *Escalated:
		w.escalated(b)
	case *Asked:
		w.asked(b)
	case *Answered:
		w.answered(b)
	case *Fault:
		w.fault(b)
	case *Notice:
		w.notice(b)
	case *Compacted:
		w.compacted(b)
	case *Redacted:
		w.redacted(b)
	case *Unknown:
		w.unknownBody(b)
	default:
		w.fail(noBody)
	}
}

// body reads a body of the kind.
func (r *decoder) body(kind []byte) Body {
	switch Kind(kind) {
	case KindTextDelta:
		return r.textDelta()
	case KindThinkingDelta:
		return r.thinkingDelta()
	case KindToolInputDelta:
		return r.toolInputDelta()
	case KindToolProgress:
		return r.toolProgress()
	case KindAnswerReplaced:
		return r.answerReplaced()
	case KindStepBegun:
		return r.stepBegun()
	case KindStepEnded:
		return r.stepEnded()
	case KindAssistantMessage:
		return r.assistantMessage()
	case KindUserMessage:
		return r.userMessage()
	case KindRunStarted:
		return r.runStarted()
	case KindRunEnded:
		return r.runEnded()
	case KindScopeOpened:
		return r.scopeOpened()
	case KindScopeClosed:
		return r.scopeClosed()
	case KindStateChanged:
		return r.stateChanged()
	case KindArtifactSaved:
		return r.artifactSaved()
	case KindTransferred:
		return r.transferred()
	case KindEscalated:
		return r.escalated()
	case KindAsked:
		return r.asked()
	case KindAnswered:
		return r.answered()
	case KindFault:
		return r.fault()
	case KindNotice:
		return r.notice()
	case KindCompacted:
		return r.compacted()
	case KindRedacted:
		return r.redacted()
	default:
		return &Unknown{Name: Kind(kind), Raw: r.Verbatim(maxRaw)}
	}
}

const noBody = "the event has no body"

// open writes kind and begins the body, if there is one.
func (w *encoder) open(is bool, kind Kind) bool {
	if !is {
		w.fail(noBody)
		return false
	}
	w.buf = append(w.buf, `"kind":"`...)
	w.buf = append(w.buf, kind...)
	w.buf = append(w.buf, `","body":{`...)
	return true
}

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
	w.strOpt(`"response":`, b.Response)
	w.boolOpt(`"piece":`, b.Piece)
	w.strsOpt(`"long_running":`, b.LongRunning)
	w.boolOpt(`"hook":`, b.Hook)
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
		case "response":
			b.Response = r.String()
		case "piece":
			b.Piece = r.Bool()
		case "long_running":
			b.LongRunning = r.strings()
		case "hook":
			b.Hook = r.Bool()
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

func (w *encoder) runStarted(b *RunStarted) {
	if !w.open(b != nil, KindRunStarted) {
		return
	}
	w.strOpt(`"agent":`, b.Agent)
	w.strOpt(`"model":`, b.Model)
	w.intOpt(`"turn":`, int64(b.Turn))
	w.intOpt(`"session":`, int64(b.Session))
	w.strOpt(`"executor":`, b.Executor)
	w.strsOpt(`"tools":`, b.Tools)
	w.serversOpt(`"servers":`, b.Servers)
	w.strsOpt(`"found":`, b.Found)
	w.labelsOpt(`"metadata":`, b.Metadata)
	w.spentOpt(b.Spent)
	w.end()
}

func (r *decoder) runStarted() *RunStarted {
	b := new(RunStarted)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "agent":
			b.Agent = r.String()
		case "model":
			b.Model = r.String()
		case "turn":
			b.Turn = r.Int()
		case "session":
			b.Session = r.Int()
		case "executor":
			b.Executor = r.String()
		case "tools":
			b.Tools = r.strings()
		case "servers":
			b.Servers = r.servers()
		case "found":
			b.Found = r.strings()
		case "metadata":
			b.Metadata = r.labels()
		case "spent":
			b.Spent = r.spent()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) runEnded(b *RunEnded) {
	if !w.open(b != nil, KindRunEnded) {
		return
	}
	w.str(`"status":`, string(b.Status))
	w.strOpt(`"stop":`, string(b.Stop))
	w.strOpt(`"why":`, string(b.Why))
	w.errOpt(`"err":`, b.Err)
	w.usageOpt(b.Usage)
	w.modelsOpt(`"models":`, b.Models)
	w.intOpt(`"cycles":`, int64(b.Cycles))
	w.intOpt(`"duration_ns":`, int64(b.Duration))
	w.costOpt(b.CostNanoUSD)
	w.rawOpt(`"output":`, b.Output)
	w.strOpt(`"partial":`, b.Partial)
	w.end()
}

func (r *decoder) runEnded() *RunEnded {
	b := new(RunEnded)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "status":
			b.Status = RunStatus(r.word())
		case "stop":
			b.Stop = StopReason(r.word())
		case "why":
			b.Why = Why(r.word())
		case "err":
			b.Err = r.error()
		case "usage":
			b.Usage = r.usage()
		case "models":
			b.Models = r.models()
		case "cycles":
			b.Cycles = r.Int()
		case "duration_ns":
			b.Duration = r.duration()
		case "cost_nano_usd":
			b.CostNanoUSD = r.cost()
		case "output":
			b.Output = r.raw()
		case "partial":
			b.Partial = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) scopeOpened(b *ScopeOpened) {
	if !w.open(b != nil, KindScopeOpened) {
		return
	}
	w.str(`"id":`, b.ID)
	w.strOpt(`"parent":`, b.Parent)
	w.strOpt(`"call":`, b.Call)
	w.strOpt(`"node":`, b.Node)
	w.str(`"agent":`, b.Agent)
	w.intOpt(`"depth":`, int64(b.Depth))
	w.blocksOpt(`"input":`, b.Input)
	w.boolOpt(`"background":`, b.Background)
	w.end()
}

func (r *decoder) scopeOpened() *ScopeOpened {
	b := new(ScopeOpened)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "id":
			b.ID = r.String()
		case "parent":
			b.Parent = r.String()
		case "call":
			b.Call = r.String()
		case "node":
			b.Node = r.String()
		case "agent":
			b.Agent = r.String()
		case "depth":
			b.Depth = r.Int()
		case "input":
			b.Input = r.blocks()
		case "background":
			b.Background = r.Bool()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) scopeClosed(b *ScopeClosed) {
	if !w.open(b != nil, KindScopeClosed) {
		return
	}
	w.str(`"id":`, b.ID)
	w.blocksOpt(`"output":`, b.Output)
	w.strOpt(`"stop":`, string(b.Stop))
	w.strOpt(`"why":`, string(b.Why))
	w.strOpt(`"route":`, b.Route)
	w.errOpt(`"err":`, b.Err)
	w.end()
}

func (r *decoder) scopeClosed() *ScopeClosed {
	b := new(ScopeClosed)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "id":
			b.ID = r.String()
		case "output":
			b.Output = r.blocks()
		case "stop":
			b.Stop = StopReason(r.word())
		case "why":
			b.Why = Why(r.word())
		case "route":
			b.Route = r.String()
		case "err":
			b.Err = r.error()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) stateChanged(b *StateChanged) {
	if !w.open(b != nil, KindStateChanged) {
		return
	}
	w.valuesOpt(`"set":`, b.Set)
	w.strsOpt(`"delete":`, b.Delete)
	w.end()
}

func (r *decoder) stateChanged() *StateChanged {
	b := new(StateChanged)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "set":
			b.Set = r.values()
		case "delete":
			b.Delete = r.strings()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) artifactSaved(b *ArtifactSaved) {
	if !w.open(b != nil, KindArtifactSaved) {
		return
	}
	w.str(`"name":`, b.Name)
	w.int(`"version":`, int64(b.Version))
	w.strOpt(`"mime":`, b.MIME)
	w.intOpt(`"size":`, b.Size)
	w.strOpt(`"digest":`, b.Digest)
	w.end()
}

func (r *decoder) artifactSaved() *ArtifactSaved {
	b := new(ArtifactSaved)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "name":
			b.Name = r.String()
		case "version":
			b.Version = r.Int()
		case "mime":
			b.MIME = r.String()
		case "size":
			b.Size = r.Int64()
		case "digest":
			b.Digest = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) transferred(b *Transferred) {
	if !w.open(b != nil, KindTransferred) {
		return
	}
	w.strOpt(`"from":`, b.From)
	w.str(`"to":`, b.To)
	w.end()
}

func (r *decoder) transferred() *Transferred {
	b := new(Transferred)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "from":
			b.From = r.String()
		case "to":
			b.To = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) escalated(b *Escalated) {
	if !w.open(b != nil, KindEscalated) {
		return
	}
	w.strOpt(`"reason":`, b.Reason)
	w.end()
}

func (r *decoder) escalated() *Escalated {
	b := new(Escalated)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "reason":
			b.Reason = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) asked(b *Asked) {
	if !w.open(b != nil, KindAsked) {
		return
	}
	w.str(`"token":`, b.Token)
	w.str(`"ask":`, string(b.Ask))
	w.strOpt(`"name":`, b.Name)
	w.intOpt(`"index":`, int64(b.Index))
	w.strOpt(`"prompt":`, b.Prompt)
	w.rawOpt(`"payload":`, b.Payload)
	w.rawOpt(`"schema":`, b.Schema)
	w.strOpt(`"call":`, b.Call)
	w.strOpt(`"tool":`, b.Tool)
	w.rawOpt(`"args":`, b.Args)
	w.timeOpt(`"expires":`, b.Expires)
	w.end()
}

func (r *decoder) asked() *Asked {
	b := new(Asked)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "token":
			b.Token = r.String()
		case "ask":
			b.Ask = QuestionKind(r.String())
		case "name":
			b.Name = r.String()
		case "index":
			b.Index = r.Int()
		case "prompt":
			b.Prompt = r.String()
		case "payload":
			b.Payload = r.raw()
		case "schema":
			b.Schema = r.raw()
		case "call":
			b.Call = r.String()
		case "tool":
			b.Tool = r.String()
		case "args":
			b.Args = r.raw()
		case "expires":
			b.Expires = r.time()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) answered(b *Answered) {
	if !w.open(b != nil, KindAnswered) {
		return
	}
	w.str(`"token":`, b.Token)
	w.raw(`"value":`, b.Value)
	w.strOpt(`"by":`, b.By)
	w.end()
}

func (r *decoder) answered() *Answered {
	b := new(Answered)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "token":
			b.Token = r.String()
		case "value":
			b.Value = r.raw()
		case "by":
			b.By = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) fault(b *Fault) {
	if !w.open(b != nil, KindFault) {
		return
	}
	w.error(`"err":`, b.Err)
	w.end()
}

func (r *decoder) fault() *Fault {
	b := new(Fault)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "err":
			b.Err = r.error()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) notice(b *Notice) {
	if !w.open(b != nil, KindNotice) {
		return
	}
	w.str(`"code":`, b.Code)
	w.strOpt(`"text":`, b.Text)
	w.rawOpt(`"data":`, b.Data)
	w.end()
}

func (r *decoder) notice() *Notice {
	b := new(Notice)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "code":
			b.Code = r.String()
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

func (w *encoder) compacted(b *Compacted) {
	if !w.open(b != nil, KindCompacted) {
		return
	}
	w.int(`"from":`, b.From)
	w.int(`"to":`, b.To)
	w.blocksOpt(`"summary":`, b.Summary)
	w.intsOpt(`"keep":`, b.Keep)
	w.boolOpt(`"cut":`, b.Cut)
	w.strOpt(`"trigger":`, b.Trigger)
	w.end()
}

func (r *decoder) compacted() *Compacted {
	b := new(Compacted)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "from":
			b.From = r.Int64()
		case "to":
			b.To = r.Int64()
		case "summary":
			b.Summary = r.blocks()
		case "keep":
			b.Keep = r.ints()
		case "cut":
			b.Cut = r.Bool()
		case "trigger":
			b.Trigger = r.String()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) redacted(b *Redacted) {
	if !w.open(b != nil, KindRedacted) {
		return
	}
	w.int(`"target":`, b.Target)
	w.blocksOpt(`"replacement":`, b.Replacement)
	w.strOpt(`"reason":`, b.Reason)
	w.boolOpt(`"clean":`, b.Clean)
	w.end()
}

func (r *decoder) redacted() *Redacted {
	b := new(Redacted)
	for o := r.Object(); o.Next(); {
		switch string(o.Key) {
		case "target":
			b.Target = r.Int64()
		case "replacement":
			b.Replacement = r.blocks()
		case "reason":
			b.Reason = r.String()
		case "clean":
			b.Clean = r.Bool()
		default:
			o.Unknown()
		}
	}
	return b
}

func (w *encoder) unknownBody(u *Unknown) {
	if u == nil {
		w.fail(noBody)
		return
	}
	if u.Name == "" || knownKind(u.Name) {
		w.fail("an unknown body must have a name, and not that of a known kind")
		return
	}
	w.str(`"kind":`, string(u.Name))
	if len(u.Raw) == 0 {
		return // it came without one
	}
	if err := strictjson.Check(u.Raw, maxRaw); err != nil {
		w.failRaw(`"body"`, err)
		return
	}
	w.key(`"body":`)
	w.buf = append(append(w.buf, u.Raw...), ',')
}
