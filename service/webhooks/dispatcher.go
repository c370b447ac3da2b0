package webhooks

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// mostSending bounds the attempts of this process at once, mostOfTenant those of one tenant, and
	// mostOfOne those to one webhook. A tenant whose endpoints are slow delays no other one.
	mostSending  = 64
	mostOfTenant = 4
	mostOfOne    = 2
	// mostTenants bounds the tenants of one round.
	mostTenants = 1000
	// mostServed bounds the tenants of which a dispatcher remembers their turn.
	mostServed = 10_000
	// sharedLook is how often a process looks for what others have written.
	sharedLook = 2 * time.Second
	// aloneLook is how often a process looks that has the database for itself.
	aloneLook = time.Minute
	// afterFault is how long a tenant rests after its rows could not be read.
	afterFault = 5 * time.Second
)

// dispatcher gives the attempts of an outbox to goroutines, fairly between tenants. One goroutine
// decides.
type dispatcher struct {
	outbox *Outbox
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	wake   chan struct{}

	mu sync.Mutex
	// woken are tenants with something new.
	woken map[string]bool
	// sending counts the attempts in progress, by tenant and webhook.
	sending map[string]map[string]int
	total   int
	// full are tenants that had more to do than they may at once.
	full map[string]bool
	// served says in which order tenants have begun attempts: the one with the lowest number waits for
	// the longest.
	served  map[string]uint64
	turn    uint64
	stopped bool
}

func newDispatcher(o *Outbox) *dispatcher {
	return &dispatcher{
		outbox: o, wake: make(chan struct{}, 1), woken: map[string]bool{}, sending: map[string]map[string]int{}, full: map[string]bool{},
		served: map[string]uint64{},
	}
}

func (d *dispatcher) start(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.cancel != nil {
		return
	}
	ctx, d.cancel = context.WithCancel(ctx)
	d.tasks.Go(func() { d.run(ctx) })
}

func (d *dispatcher) stop() {
	d.mu.Lock()
	d.stopped = true
	if d.cancel != nil {
		d.cancel()
	}
	d.mu.Unlock()
	d.tasks.Wait()
	d.outbox.sender.guard.CloseIdleConnections()
}

// look has the tenant looked at now.
func (d *dispatcher) look(tenant string) {
	d.mu.Lock()
	d.woken[tenant] = true
	d.mu.Unlock()
	d.notify()
}

func (d *dispatcher) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run looks for work until ctx ends. The first round looks at every tenant, because a process that
// died may have left claims.
func (d *dispatcher) run(ctx context.Context) {
	every := aloneLook
	if d.outbox.db.Shared() {
		every = sharedLook
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	first := !d.outbox.db.Shared()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-timer.C:
		}
		due, nextDue, err := d.outbox.dueTenants(ctx, first)
		if err != nil && ctx.Err() == nil {
			d.outbox.log.Warn("webhooks could not look for deliveries; will retry", "error", err)
			nextDue = time.Now().Add(afterFault)
		}
		first = first && err != nil
		for _, tenant := range d.queue(due) {
			if at := d.serve(ctx, tenant); !at.IsZero() && (nextDue.IsZero() || at.Before(nextDue)) {
				nextDue = at
			}
		}
		wait := every
		if !nextDue.IsZero() {
			wait = min(wait, max(time.Until(nextDue), time.Millisecond))
		}
		timer.Reset(wait)
	}
}

// queue returns the tenants to serve: those that are due, woken, or had more to do. The one whose
// last turn is the longest ago comes first.
func (d *dispatcher) queue(due []string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := make(map[string]bool, len(due))
	var list []string
	add := func(tenant string) {
		if !seen[tenant] {
			seen[tenant] = true
			list = append(list, tenant)
		}
	}
	for _, tenant := range due {
		add(tenant)
	}
	for tenant := range d.woken {
		add(tenant)
	}
	for tenant := range d.full {
		add(tenant)
	}
	clear(d.woken)
	if len(d.served) > mostServed {
		clear(d.served)
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(d.served[a], d.served[b]) })
	return list
}

// serve claims deliveries of a tenant and begins their attempts. It returns when the tenant is to be
// looked at again although nothing new comes; the zero time means not at all.
func (d *dispatcher) serve(ctx context.Context, tenant string) time.Time {
	busy, most := d.room(tenant)
	t, err := d.outbox.take(ctx, tenant, busy, most)
	if err != nil {
		if ctx.Err() == nil {
			d.outbox.log.Warn("webhook deliveries could not be claimed; will retry", "tenant", tenant, "error", err)
		}
		d.mu.Lock()
		d.full[tenant] = true
		d.mu.Unlock()
		return time.Now().Add(afterFault)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.full, tenant)
	if t.more || len(busy) > 0 {
		d.full[tenant] = true
	}
	if len(t.list) > 0 {
		d.turn++
		d.served[tenant] = d.turn
	}
	for i := range t.list {
		d.begin(ctx, tenant, &t.list[i])
	}
	if t.more && len(t.list) == 0 && most > 0 { // more notices than one transaction takes
		return time.Now()
	}
	if t.due.After(time.Now()) {
		return t.due
	}
	return time.Time{} // the end of an attempt wakes the tenant
}

// room returns how many attempts the tenant may begin, and which of its webhooks may begin none. A
// tenant without room is remembered.
func (d *dispatcher) room(tenant string) (busy []string, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for id, sending := range d.sending[tenant] {
		n += sending
		if sending >= mostOfOne {
			busy = append(busy, id)
		}
	}
	most = min(mostOfTenant-n, mostSending-d.total)
	if most <= 0 {
		d.full[tenant] = true
	}
	return busy, most
}

// begin begins an attempt. The caller holds mu.
func (d *dispatcher) begin(ctx context.Context, tenant string, one *Delivery) {
	if d.sending[tenant] == nil {
		d.sending[tenant] = map[string]int{}
	}
	d.sending[tenant][one.Webhook]++
	d.total++
	d.tasks.Go(func() {
		defer d.ended(tenant, one.Webhook)
		d.outbox.deliver(ctx, tenant, one)
	})
}

func (d *dispatcher) ended(tenant, webhook string) {
	d.mu.Lock()
	d.total--
	if d.sending[tenant][webhook]--; d.sending[tenant][webhook] == 0 {
		delete(d.sending[tenant], webhook)
	}
	if len(d.sending[tenant]) == 0 {
		delete(d.sending, tenant)
	}
	d.mu.Unlock()
	d.notify() // for those that wait, and because the next attempt may be due sooner than anything else
}
