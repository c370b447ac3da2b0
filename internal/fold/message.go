package fold

import "github.com/braidrun/braid/event"

// user applies a message of a user, of a hook, or of the loop itself.
func (v *Conversation) user(s *Scope, e *event.Event, b *event.UserMessage) {
	opens := false
	switch {
	case b.Why == event.WhyRepeats:
		s.countRepeats().Told = true
	case b.Why == event.WhyTask && s.Background != nil:
		s.Background.News = nil
	case b.Why != "":
	case b.Mail == "" && e.Author == s.Agent:
		v.Run.Rounds++ // a hook let the run go on
	case b.Mail == "":
		v.Run.Inputs++
		opens = true
	default:
		if v.Mail == nil {
			v.Mail = make(map[string]string)
		}
		v.Mail[b.Mail] = e.Run
	}
	whole := v.Hidden.content(e, b.Content)
	if v.Hidden.cuts(e) {
		whole = cutResults(whole)
	}
	content := s.takeResults(e.Seq, whole)
	s.Batch.Direct = false
	hide := v.Hidden.has(e)
	if !hide {
		s.Transcript.user(content)
		s.Transcript.traceUser(content, e.Seq, opens)
	}
	if b.Why != "" {
		s.Fresh = b.Why
		return
	}
	s.Repeats.forget()
	s.Flow.begin()
	s.Place.Began = e.Time
	s.Batch.Done = nil
	s.hear(e.Seq)
	s.Answer.spoke = s.Answer.spoke && s.Cycle > 0 // an answer before the first call belongs to an imported history
	if !hide {
		s.Newest.Content, s.Newest.Whole = content, len(content) == len(b.Content) || v.Hidden.Redacted[e.Seq] != nil
	}
	s.Fresh = event.WhyInput
	if b.Mail != "" {
		s.Fresh = event.WhyMessage
	}
}

func (r *Run) assistant(s *Scope, e *event.Event, b *event.AssistantMessage, v *Conversation) {
	if b.Piece {
		s.Answer.Pieces = append(s.Answer.Pieces, b.Content...)
		return
	}
	content := b.Content
	if s.Answer.Pieces != nil {
		content = joinBlocks(s.Answer.Pieces, content)
		s.Answer.Pieces = nil
	}
	switch {
	case e.Step == "" && s.Depth == 0:
		r.Inputs++
	case e.Step != "":
		name := s.Model.Name
		if name == "" {
			name = b.Model
		}
		r.count(s, name, b.Usage, b.CostNanoUSD, b.Estimated)
		r.Metrics.ModelTime += b.Latency
		if r.Metrics.TimeToFirstByte == 0 {
			r.Metrics.TimeToFirstByte = b.TimeToFirstByte
		}
	}
	s.Model = ModelCall{}
	s.Before = nil
	if s.Compaction().State != ModelIdle {
		s.changeCompaction().State = ModelIdle // the answer came without it
	}
	s.Fresh = ""
	s.Answer.Stop = b.Stop
	s.closeBatch()
	s.Batch.last, s.Newest.before = nil, nil
	s.Answer.spoke = true
	if e.Step != "" {
		s.Fresh = "" // even if a hook answered calls that the program itself requested
	}
	if s.Depth == 0 {
		r.LastMessage = event.Message{Role: event.RoleAssistant, Content: content}
	}
	hide := v.Hidden.has(e)
	s.Answer.Words, s.Answer.Hooked = v.Hidden.content(e, content), b.Hook
	calls := CountCalls(content)
	if calls == 0 {
		if !hide {
			content = v.Hidden.content(e, content)
			s.Transcript.assistant(content)
			s.Transcript.traceAnswer(content, e.Seq, b.Stop == event.StopPause)
		}
		s.gauge.count(b.Usage, content, s.Transcript.Len())
		if b.Stop == event.StopPause {
			s.Fresh = event.WhyPaused
		}
		return
	}
	s.Batch.Asking, s.Batch.askedAt = v.Hidden.callContent(e, content), e.Seq
	if hide {
		s.Batch.Asking = nil
	}
	s.gauge.count(b.Usage, content, s.Transcript.Len()+1)
	s.Batch.Settled = 0
	s.Batch.EndTurn, s.Batch.Returned, s.Batch.Answer = false, nil, nil
	s.Batch.Direct = e.Step == ""
	slab := make([]Call, calls)
	s.Batch.Calls = make([]*Call, 0, calls)
	for _, b := range content {
		if c, ok := b.(*event.ToolCall); ok {
			i := len(s.Batch.Calls)
			slab[i] = Call{ToolCall: c, Index: i, Step: StepName(s.ID, 't', s.Cycle, i)}
			s.Batch.Calls = append(s.Batch.Calls, &slab[i])
		}
	}
	if e.Step != "" {
		// The calls of an imported history are not this run's.
		s.Totals.ToolCalls += calls
		for p := s; p != nil; p = p.Parent {
			p.Totals.Spent.ToolCalls += calls
		}
	}
}
