package event

// The bodies of runs and their scopes: how they begin, end and pass the work on.

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
	w.strOpt(`"continues":`, b.Continues)
	w.intOpt(`"from":`, b.From)
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
		case "continues":
			b.Continues = r.String()
		case "from":
			b.From = r.Int64()
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
	w.boolOpt(`"estimated":`, b.Estimated)
	w.rawOpt(`"output":`, b.Output)
	w.strOpt(`"partial":`, b.Partial)
	w.boolOpt(`"keep":`, b.Keep)
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
		case "estimated":
			b.Estimated = r.Bool()
		case "output":
			b.Output = r.raw()
		case "partial":
			b.Partial = r.String()
		case "keep":
			b.Keep = r.Bool()
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
