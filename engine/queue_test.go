package engine

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/journal"
)

// Whatever is queued, starts and ends: the bounds hold, nothing that could start
// waits, each tenant's most urgent run goes first, and nobody waits for more
// than one turn of each other tenant.
func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &queueModel{
			q:      queue{most: rapid.IntRange(1, 6).Draw(rt, "most")},
			shares: map[string]Share{}, starts: map[string]map[string]int{},
		}
		for i := range rapid.IntRange(1, 5).Draw(rt, "tenants") {
			m.names = append(m.names, fmt.Sprint("t", i))
			m.shares[m.names[i]] = Share{
				Weight:  rapid.IntRange(1, 4).Draw(rt, "weight"),
				Running: rapid.IntRange(1, 6).Draw(rt, "running"), Backlog: 1 << 20,
			}
		}
		for range rapid.IntRange(0, 200).Draw(rt, "steps") {
			m.step(rt)
			m.check(rt)
		}
	})
}

type queueModel struct {
	q       queue
	names   []string
	shares  map[string]Share
	waiting []*task
	active  []*task
	// starts counts, for each tenant that could start a run if there were room
	// in all, the starts of the others since it could.
	starts map[string]map[string]int
}

func (m *queueModel) step(rt *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(rt, "what") {
	default: // a run comes
		name := rapid.SampledFrom(m.names).Draw(rt, "tenant")
		t := &task{
			run:      journal.Run{ID: "run", Tenant: name},
			tenant:   m.q.tenant(name, func(n string) Share { return m.shares[n] }),
			priority: rapid.IntRange(0, 2).Draw(rt, "priority"),
		}
		t.tenant.tasks++
		m.q.set(t, ready)
		m.waiting = append(m.waiting, t)
	case 6: // one goes back to wait for its turn
		if t := m.pick(rt, m.waiting); t != nil {
			m.q.set(t, blocked)
			m.q.set(t, ready)
		}
	case 7: // one becomes urgent
		if t := m.pick(rt, m.waiting); t != nil {
			m.q.raise(t)
		}
	case 8, 9: // one ends
		if t := m.pick(rt, m.active); t != nil {
			m.active = remove(m.active, t)
			m.q.done(t)
			t.tenant.tasks--
			m.q.tidy(t.tenant)
		}
	}
	m.mark()
	for t := m.q.next(); t != nil; t = m.q.next() {
		m.started(rt, t)
	}
}

func (m *queueModel) pick(rt *rapid.T, from []*task) *task {
	if len(from) == 0 {
		return nil
	}
	return rapid.SampledFrom(from).Draw(rt, "task")
}

// mark notes which tenants could start something from now on.
func (m *queueModel) mark() {
	for _, name := range m.names {
		could := false
		if t := m.q.tenants[name]; t != nil {
			could = t.could()
		}
		switch {
		case !could:
			delete(m.starts, name)
		case m.starts[name] == nil:
			m.starts[name] = map[string]int{}
		}
	}
}

func (m *queueModel) started(rt *rapid.T, t *task) {
	for _, o := range m.waiting {
		if o.tenant != t.tenant || o == t {
			continue
		}
		before := o.urgent && !t.urgent || o.urgent == t.urgent &&
			(o.priority > t.priority || o.priority == t.priority && o.order < t.order)
		if before {
			rt.Fatalf("a run of %s went before a more urgent or older one", t.tenant.name)
		}
	}
	m.waiting = remove(m.waiting, t)
	m.active = append(m.active, t)
	delete(m.starts, t.tenant.name)
	for name, starts := range m.starts {
		starts[t.tenant.name]++
		if n, weight := starts[t.tenant.name], m.shares[t.tenant.name].Weight; n > weight {
			rt.Fatalf("%s waited for %d starts of %s, whose turn is %d", name, n, t.tenant.name, weight)
		}
	}
	m.mark()
}

func (m *queueModel) check(rt *rapid.T) {
	running := map[string]int{}
	for _, t := range m.active {
		running[t.tenant.name]++
	}
	if len(m.active) > m.q.most || len(m.active) != m.q.running {
		rt.Fatalf("%d runs at once, the queue says %d, the most is %d", len(m.active), m.q.running, m.q.most)
	}
	ready := map[string]int{}
	for _, t := range m.waiting {
		ready[t.tenant.name]++
	}
	backlog := 0
	for _, name := range m.names {
		if running[name] > m.shares[name].Running {
			rt.Fatalf("%d runs of %s at once, the most is %d", running[name], name, m.shares[name].Running)
		}
		if len(m.active) < m.q.most && ready[name] > 0 && running[name] < m.shares[name].Running {
			rt.Fatalf("%s waits though there is room", name)
		}
		t := m.q.tenants[name]
		if t == nil && ready[name]+running[name] > 0 {
			rt.Fatalf("%s is forgotten", name)
		}
		if t != nil && (t.backlog != ready[name] || t.running != running[name]) {
			rt.Fatalf("%s: backlog %d and %d running, want %d and %d", name, t.backlog, t.running, ready[name], running[name])
		}
		backlog += ready[name]
	}
	if m.q.backlog != backlog {
		rt.Fatalf("backlog is %d, want %d", m.q.backlog, backlog)
	}
}

func remove(from []*task, t *task) []*task {
	var rest []*task
	for _, o := range from {
		if o != t {
			rest = append(rest, o)
		}
	}
	return rest
}

// P13 as it is said: one tenant with 10,000 queued runs delays another's start
// by one turn, and in the long run each gets by its weight.
func TestTenThousandDelayNobody(t *testing.T) {
	t.Parallel()
	weights := map[string]int{"many": 1, "few": 1, "heavy": 3}
	q := queue{most: 1}
	add := func(name string) {
		t := &task{tenant: q.tenant(name, func(n string) Share { return Share{Weight: weights[n], Running: 10, Backlog: 1 << 20} })}
		t.tenant.tasks++
		q.set(t, ready)
	}
	next := func() string {
		task := q.next()
		q.done(task)
		return task.tenant.name
	}
	for range 10_000 {
		add("many")
	}
	for range 100 {
		next()
	}
	add("few")
	if first, second := next(), next(); first != "few" && second != "few" {
		t.Errorf("the new tenant's run was not among the next two: %s, %s", first, second)
	}
	for range 10_000 {
		add("heavy")
	}
	got := map[string]int{}
	for range 4000 {
		got[next()]++
	}
	if got["heavy"] < 2990 || got["heavy"] > 3010 {
		t.Errorf("of 4000 starts %v, want a quarter and three", got)
	}
}
