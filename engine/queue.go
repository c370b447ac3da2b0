package engine

import "container/heap"

// queue decides which task starts next. It is a weighted round robin over the tenants that can
// start a task. In its turn a tenant starts as many tasks as its weight, then it goes to the end. A
// new tenant also goes to the end, so a tenant waits for at most one turn of each other tenant. The
// queue has no lock, no clock and no goroutine.
type queue struct {
	// most bounds how many tasks run at once.
	most    int
	running int
	// backlog counts the queued tasks and the reserved places.
	backlog int
	// ready counts the tasks that only wait for a place to run.
	ready   int
	tenants map[string]*tenant
	// turn are the tenants that can start a task, the next one first.
	turn  []*tenant
	order int64
}

// tenant is the queue's state of a tenant.
type tenant struct {
	name  string
	share Share
	ready byUrgency
	// backlog counts its queued tasks and its reserved places.
	backlog int
	// tasks counts all of its tasks.
	tasks   int
	running int
	// credit is what is left of its turn.
	credit int
	// inTurn reports that it is in queue.turn.
	inTurn bool
}

// tenant returns the tenant of a name. It calls share for a new one.
func (q *queue) tenant(name string, share func(string) Share) *tenant {
	t := q.tenants[name]
	if t == nil {
		t = &tenant{name: name, share: share(name)}
		if q.tenants == nil {
			q.tenants = make(map[string]*tenant)
		}
		q.tenants[name] = t
	}
	return t
}

// tidy forgets a tenant without tasks.
func (q *queue) tidy(t *tenant) {
	if t.tasks == 0 && t.backlog == 0 && !t.inTurn {
		delete(q.tenants, t.name)
	}
}

// could reports whether the tenant could start a task if there were room in total.
func (t *tenant) could() bool { return len(t.ready) > 0 && t.running < t.share.Running }

// set changes the state of a task to ready, blocked or idle.
func (q *queue) set(t *task, to state) {
	if t.state == to {
		return
	}
	if t.queued() {
		q.backlog--
		t.tenant.backlog--
	}
	if t.state == ready {
		q.ready--
		heap.Remove(&t.tenant.ready, t.at)
	}
	t.state = to
	if t.queued() {
		q.backlog++
		t.tenant.backlog++
	}
	if to == ready {
		q.ready++
		q.order++
		t.order = q.order
		heap.Push(&t.tenant.ready, t)
		q.line(t.tenant)
	}
}

// raise makes a ready task the next of its tenant.
func (q *queue) raise(t *task) {
	t.urgent = true
	if t.state == ready {
		heap.Fix(&t.tenant.ready, t.at)
	}
}

// line adds a tenant that can start a task to the end of turn.
func (q *queue) line(t *tenant) {
	if !t.inTurn && t.could() {
		t.inTurn, t.credit = true, t.share.Weight
		q.turn = append(q.turn, t)
	}
}

// next returns the next task to start, nil if there is none or no room. The task counts as running
// until done.
func (q *queue) next() *task {
	for q.running < q.most && len(q.turn) > 0 {
		t := q.turn[0]
		if !t.could() {
			q.leave(t)
			continue
		}
		first := t.ready[0]
		q.start(first)
		t.credit--
		if t.credit == 0 {
			q.leave(t)
			q.line(t)
		}
		return first
	}
	return nil
}

// start makes a task running.
func (q *queue) start(t *task) {
	q.set(t, running)
	q.running++
	t.tenant.running++
}

// leave removes the first tenant from turn.
func (q *queue) leave(t *tenant) {
	t.inTurn = false
	q.turn[0] = nil
	q.turn = q.turn[1:]
	q.tidy(t)
}

// done makes a running task idle.
func (q *queue) done(t *task) {
	q.running--
	t.tenant.running--
	t.state = idle
	q.line(t.tenant)
}
