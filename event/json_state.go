package event

// The bodies of what a run leaves, asks and shows otherwise: state, artifacts, questions, summaries, redactions.

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
	w.strOpt(`"tool_hash":`, b.ToolHash)
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
		case "tool_hash":
			b.ToolHash = r.String()
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
