package floor

import "sync"

// Each calls do for the numbers below n, at most width at once, and returns when all have returned.
func Each(n, width int, do func(i int)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, width)
	for i := range n {
		room <- struct{}{}
		beside(&wg, func() {
			do(i)
			<-room
		})
	}
	wg.Wait()
}

// Parts are a session that several parts of one flow write to.
type Parts struct {
	mu sync.Mutex
	s  *Session
	// read is the reader, which sees each event.
	read func(*Event)
}

// NewParts makes a session for the parts of a flow.
func NewParts(read func(*Event)) *Parts { return &Parts{s: NewSession("s"), read: read} }

// Do calls a part of the flow with its input. The session gets an event when it begins and one when it ends.
func (p *Parts) Do(name, input string, f func(string) string) string {
	p.add(name, UserSaid, input)
	out := f(input)
	p.add(name, ModelSaid, out)
	return out
}

func (p *Parts) add(name string, kind Kind, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read(p.s.add("run", name, kind, &Message{Text: text}))
}
