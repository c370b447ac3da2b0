package engine

import "container/heap"

// queue decides which task is started next. It is weighted round robin over the
// tenants that could start one: in its turn a tenant starts as many as its weight
// says, then it goes to the end. Who comes anew goes to the end too, so
// nobody waits for more than one turn of each other tenant, however many runs
// those have queued. It has no lock, no clock and no goroutine.
type queue struct {
	// most is how many tasks run at once.
	most    int
	running int
	// backlog counts the queued tasks and the places that were promised; ready
	// those that only wait for a place to run.
	backlog int
	ready   int
	tenants map[string]*tenant
	// turn is the tenants that could start a task, the next one first.
	turn  []*tenant
	order int64
}

// tenant is what the queue knows of one.
type tenant struct {
	name  string
	share Share
	ready byUrgency
	// backlog counts its queued tasks and the places that were promised to it;
	// tasks counts all of its tasks.
	backlog int
	tasks   int
	running int
	// credit is what is left of its turn; inTurn says that it stands in line.
	credit int
	inTurn bool
}

// tenant gives the tenant of a name; share is asked for a new one.
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

// tidy forgets a tenant that has nothing here.
func (q *queue) tidy(t *tenant) {
	if t.tasks == 0 && t.backlog == 0 && !t.inTurn {
		delete(q.tenants, t.name)
	}
}

// could reports whether the tenant could start a task, were there room in all.
func (t *tenant) could() bool { return len(t.ready) > 0 && t.running < t.share.Running }

// set moves a task from its state to another one of ready, blocked or idle.
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

// line puts a tenant in line that could start a task.
func (q *queue) line(t *tenant) {
	if !t.inTurn && t.could() {
		t.inTurn, t.credit = true, t.share.Weight
		q.turn = append(q.turn, t)
	}
}

// next gives the task to start, nil if none is or there is no room. The task
// counts as running until done.
func (q *queue) next() *task {
	for q.running < q.most && len(q.turn) > 0 {
		t := q.turn[0]
		if !t.could() {
			q.leave(t)
			continue
		}
		first := t.ready[0]
		q.set(first, running)
		q.running++
		t.running++
		t.credit--
		if t.credit == 0 {
			q.leave(t)
			q.line(t)
		}
		return first
	}
	return nil
}

// leave takes the first tenant out of line.
func (q *queue) leave(t *tenant) {
	t.inTurn = false
	q.turn[0] = nil
	q.turn = q.turn[1:]
	q.tidy(t)
}

// done says that a running task runs no more: it is idle.
func (q *queue) done(t *task) {
	q.running--
	t.tenant.running--
	t.state = idle
	q.line(t.tenant)
}
