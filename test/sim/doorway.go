package sim

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// doorway is the gate at which every call of a seam waits for its turn. A caller runs until its
// next call waits, so one thing happens at a time, in an order that only the seed decides.
type doorway struct {
	rng *rand.Rand

	mu     sync.Mutex
	parked []*turn
	opened bool
	// news has a value if a caller has arrived since the last look.
	news chan struct{}
	// turns counts the passes.
	turns int
	story []string
	hash  uint64
}

// turn is a waiting call.
type turn struct {
	key string
	// proc is the caller's process; nil is a client.
	proc *process
	// after is the number of turns that should come first, as long as there is other work.
	after int
	pass  chan struct{}
}

func newGate(seed uint64) *doorway {
	return &doorway{rng: rand.New(rand.NewPCG(seed, 0x6272616964)), news: make(chan struct{}, 1)} //nolint:gosec // no secrecy
}

// pass waits for the call's turn. It returns false if the process has died meanwhile: then
// nothing that follows may have an effect.
func (g *doorway) pass(p *process, key string, after int) bool {
	t := &turn{key: key, proc: p, after: after, pass: make(chan struct{})}
	g.mu.Lock()
	if g.opened && p == nil {
		g.mu.Unlock()
		return true
	}
	g.parked = append(g.parked, t)
	g.mu.Unlock()
	g.ring()
	if p == nil {
		<-t.pass
		return true
	}
	select {
	case <-t.pass:
		return true
	case <-p.buried:
		return false
	}
}

// open lets all clients pass from now on, because the case is over.
func (g *doorway) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = true
	for _, t := range g.parked {
		if t.proc == nil {
			close(t.pass)
		}
	}
	g.parked = nil
}

func (g *doorway) ring() {
	select {
	case g.news <- struct{}{}:
	default:
	}
}

// next lets one waiting call pass. It returns false if none may.
func (g *doorway) next() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parked = slices.DeleteFunc(g.parked, func(t *turn) bool { return t.proc != nil && t.proc.state == dead })
	slices.SortStableFunc(g.parked, func(a, b *turn) int { return strings.Compare(a.key, b.key) })
	var now, later []*turn
	for _, t := range g.parked {
		switch {
		case t.proc != nil && t.proc.state == paused:
		case t.after > g.turns:
			later = append(later, t)
		default:
			now = append(now, t)
		}
	}
	if len(now) == 0 && len(later) > 0 {
		// No other work is left before time advances.
		now = append(now, slices.MinFunc(later, func(a, b *turn) int { return cmp.Compare(a.after, b.after) }))
	}
	if len(now) == 0 {
		return false
	}
	t := now[g.rng.IntN(len(now))]
	g.parked = slices.DeleteFunc(g.parked, func(o *turn) bool { return o == t })
	g.turns++
	g.note(t.key)
	close(t.pass)
	return true
}

// tell adds a line to the history.
func (g *doorway) tell(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note("    " + line)
}

func (g *doorway) note(line string) {
	h := fnv.New64a()
	var old [8]byte
	for i := range old {
		old[i] = byte(g.hash >> (8 * i))
	}
	_, _ = h.Write(old[:])
	_, _ = h.Write([]byte(line))
	g.hash = h.Sum64()
	g.story = append(g.story, line)
}
