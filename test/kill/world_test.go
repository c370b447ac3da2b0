//go:build unix

package kill

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/test/kill/worker"
)

// world is one folder, the ledger outside it, the users who talk to its agents, and the processes that start
// and die.
type world struct {
	t      *testing.T
	binary string
	folder string
	socket string
	lie    worker.Lie
	// deadly makes the workers drive the agent whose tools end their process.
	deadly bool
	ledger *ledger.Ledger

	mu      sync.Mutex
	changed *sync.Cond
	process *process
	lives   []life
	orders  []*order
	sights  []sight
	// open are the runs that have not ended, ended the others. asked are the open questions. seen counts
	// what clients saw of a conversation.
	open   map[string]string
	ended  map[string]bool
	talkOf map[string]string
	asked  map[string]string
	seen   map[string]int
	// watched is what clients saw of conversations. current are the conversations that are still watched.
	watched map[string][]worker.Sight
	current map[string]bool
	// last makes the users finish. over is set when no process will start again; then gone is closed.
	last, over bool
	gone       chan struct{}
}

// errorf reports an error of the test, unless the worker is faulty on purpose.
func (w *world) errorf(format string, args ...any) {
	w.t.Helper()
	if w.lie == "" {
		w.t.Errorf(format, args...)
	}
}

// life is the time of a process by the wall clock.
type life struct {
	began, ended time.Time
	cause        string
}

// order is a request to the worker, repeated until a process responds.
type order struct {
	worker.Order
	// mark names its message, again is set for a repeated message, and told is the response.
	mark     string
	again    bool
	told     *worker.Done
	answered bool
	done     chan struct{}
}

// sight is an event that a watcher saw, and the process that showed it.
type sight struct {
	worker.Sight
	process int
}

type process struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	began  time.Time
	ready  bool
	errors bytes.Buffer
	// drives are the runs that it drives, each with whether it has made progress.
	drives map[string]bool
	// doomed are the runs whose call is about to end the process.
	doomed []string
	// dead is closed when the process has ended and all its output was read.
	dead chan struct{}
}

func newWorld(t *testing.T, binary string, lie worker.Lie) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "kill") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, binary: binary, folder: filepath.Join(dir, "data"), socket: filepath.Join(dir, "ledger"), lie: lie,
		open: map[string]string{}, ended: map[string]bool{}, talkOf: map[string]string{}, asked: map[string]string{}, seen: map[string]int{},
		watched: map[string][]worker.Sight{}, current: map[string]bool{},
		gone: make(chan struct{}),
	}
	w.changed = sync.NewCond(&w.mu)
	if w.ledger, err = ledger.Listen(t.Context(), w.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.mu.Lock()
		p := w.process
		w.end()
		w.mu.Unlock()
		if p != nil {
			_ = p.cmd.Process.Kill()
			<-p.dead
		}
		_ = w.ledger.Close()
		_ = os.RemoveAll(dir)
	})
	return w
}

// lease is the default term of leases. It is longer than a busy machine may delay a process.
const lease = 30 * time.Second

// start starts the next process, with leases of this term. It dies at the point, if one is given.
func (w *world) start(point string, term time.Duration) *process {
	w.mu.Lock()
	p := &process{number: len(w.lives) + 1, drives: map[string]bool{}, dead: make(chan struct{})}
	w.mu.Unlock()
	p.cmd = exec.Command(w.binary, worker.Command, "--data", w.folder, "--ledger", w.socket,
		"--process", strconv.Itoa(p.number), "--lie", string(w.lie), "--term", term.String())
	if w.deadly {
		p.cmd.Args = append(p.cmd.Args, "--deadly")
	}
	p.cmd.Env = append(os.Environ(), "BRAID_FAILPOINT="+point, "GOTRACEBACK=all")
	p.cmd.Stderr = &p.errors
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		w.errorf("%v", err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		w.errorf("%v", err)
	}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		w.errorf("%v", err)
		close(p.dead)
		return p
	}
	w.mu.Lock()
	w.process = p
	w.mu.Unlock()
	go w.listen(p, out)
	return p
}

// listen reads the output of a process until its end.
func (w *world) listen(p *process, out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var told worker.Told
		if json.Unmarshal(lines.Bytes(), &told) != nil {
			continue // the process died within the line
		}
		w.mu.Lock()
		w.take(p, &told)
		w.changed.Broadcast()
		w.mu.Unlock()
	}
	_ = p.cmd.Wait()
	// Its effects must be recorded before those of its successor.
	w.ledger.Settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process = nil
	w.changed.Broadcast()
	w.lives = append(w.lives, life{began: p.began, ended: time.Now()})
	close(p.dead)
}

// take processes one line. The caller holds the world's lock.
func (w *world) take(p *process, told *worker.Told) {
	switch {
	case told.Begun != nil:
		w.begun(told.Begun)
		p.ready = true
		for talk := range w.current {
			w.watchOn(p, talk)
		}
		for _, o := range w.orders {
			if !o.answered {
				w.give(p, o)
			}
		}
	case told.Done != nil:
		o := w.orders[told.Done.ID]
		if o.answered {
			return
		}
		o.answered, o.told = true, told.Done
		close(o.done)
		if run := told.Done.Run; run != "" && !w.ended[run] {
			w.open[run] = o.Conversation
		}
		if told.Done.Run != "" {
			w.talkOf[told.Done.Run] = o.Conversation
		}
	case told.Event != nil:
		e := told.Event
		w.sights = append(w.sights, sight{Sight: *e, process: p.number})
		w.seen[e.Conversation]++
		if _, driven := p.drives[e.Run]; driven && e.Progress {
			p.drives[e.Run] = true
		}
		switch e.Kind {
		case event.KindRunStarted:
			w.open[e.Run], w.talkOf[e.Run] = e.Conversation, e.Conversation
		case event.KindRunEnded:
			w.ended[e.Run] = true
			delete(w.open, e.Run)
			for token, conversation := range w.asked {
				if conversation == e.Conversation {
					delete(w.asked, token)
				}
			}
		case event.KindAsked:
			w.asked[e.Token] = e.Conversation
		}
	case told.Takes != nil:
		p.drives[told.Takes.Run] = false
	case told.Leaves != nil:
		delete(p.drives, told.Leaves.Run)
	case told.Seen != nil:
		w.watched[told.Seen.Conversation] = append(w.watched[told.Seen.Conversation], *told.Seen)
	case told.Trouble != "":
		w.errorf("process %d: %s", p.number, told.Trouble)
	}
}

// begun records what the new process found.
func (w *world) begun(b *worker.Begun) {
	for run := range w.open {
		w.ended[run] = true
	}
	clear(w.open)
	for _, place := range b.Open {
		w.open[place.Run] = place.Conversation
		delete(w.ended, place.Run)
	}
	clear(w.asked)
	for _, q := range b.Questions {
		w.asked[q.Token] = q.Conversation
	}
}

// give sends an order to a process, which may die with it. The caller holds the world's lock.
func (w *world) give(p *process, o *order) {
	line, err := json.Marshal(&o.Order)
	if err != nil {
		w.errorf("%v", err)
	}
	_, _ = p.in.Write(append(line, '\n'))
}

// watchOn makes a process show a client the events after those it has seen. The caller holds the world's
// lock.
func (w *world) watchOn(p *process, talk string) {
	var after int64
	if seen := w.watched[talk]; len(seen) > 0 {
		after = seen[len(seen)-1].Seq
	}
	w.give(p, &order{Order: worker.Order{Do: worker.DoWatch, Conversation: talk, After: after}})
}

// watch starts to watch a conversation over all processes.
func (w *world) watch(talk string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current[talk] = true
	if p := w.process; p != nil && p.ready {
		w.watchOn(p, talk)
	}
}

// unwatch waits until the client has seen the ends of all ended runs, and then stops watching.
func (w *world) unwatch(talk string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.over && !w.sawAll(talk) {
		w.changed.Wait()
	}
	delete(w.current, talk)
}

// sawAll reports whether the client has seen the end of every ended run. The caller holds the world's lock.
func (w *world) sawAll(talk string) bool {
	ends := map[string]bool{}
	for i := range w.watched[talk] {
		if s := &w.watched[talk][i]; s.Kind == event.KindRunEnded {
			ends[s.Run] = true
		}
	}
	for run := range w.ended {
		if w.talkOf[run] == talk && !ends[run] {
			return false
		}
	}
	return true
}

// do gives an order to one process after another until one responds. It returns nil if the world ended
// before.
func (w *world) do(o *order) *worker.Done {
	o.done = make(chan struct{})
	w.mu.Lock()
	o.ID = len(w.orders)
	w.orders = append(w.orders, o)
	if p := w.process; p != nil && p.ready {
		w.give(p, o)
	}
	w.mu.Unlock()
	select {
	case <-o.done:
		return o.told
	case <-w.gone:
		return nil
	}
}

// ways say how a process dies.
type way struct {
	// point is a failpoint's name, at the number of the visit or call.
	point string
	at    int
	// inCall kills during a call to the ledger, before or after its entry is written. If tool is set, only
	// its calls count.
	inCall, before bool
	tool           string
	// after kills at a time. If leaves is set, the process is asked to drain instead, and nothing is in
	// doubt. If drains is set, it is killed some time after it was asked.
	after  time.Duration
	leaves bool
	drains bool
	then   time.Duration
}

func (w way) String() string {
	switch {
	case w.point != "":
		return w.point
	case w.inCall && w.before:
		return "in a call, before it happened"
	case w.inCall:
		return "in a call, after it happened"
	case w.leaves:
		return drained
	case w.drains:
		return "at random, while it drains"
	default:
		return "at random"
	}
}

// drained is the cause of a process that was asked to end.
const drained = "not killed, but drained"

// patience is how long a process may live without reaching its point. Then it is killed, as at random.
const patience = 500 * time.Millisecond

// kill starts a process, lets it die, and returns the cause.
func (w *world) kill(way way) (cause string) {
	point := ""
	limit, term := patience, lease
	var hook ledger.Hook
	pids := make(chan *process, 1)
	switch {
	case way.point != "":
		point = fmt.Sprintf("%s:%d", way.point, way.at)
		if way.point == pointRenew {
			// Only long runs renew their lease.
			term = 1500 * time.Millisecond
			hook.After = func(e ledger.Entry) bool {
				if e.Tool == "wait" {
					<-time.After(700 * time.Millisecond)
				}
				return true
			}
			limit = 4 * patience
		}
	case way.inCall:
		var mu sync.Mutex
		calls := 0
		strike := func(e ledger.Entry) bool {
			if way.tool != "" && e.Tool != way.tool {
				return true
			}
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls != way.at {
				return calls < way.at
			}
			p := <-pids
			_ = p.cmd.Process.Kill()
			return false
		}
		if way.before {
			hook.Before = strike
		} else {
			hook.After = strike
		}
	default:
		limit = way.after
	}
	w.ledger.Set(hook)
	defer w.ledger.Set(ledger.Hook{})
	p := w.start(point, term)
	pids <- p
	timer := time.NewTimer(limit)
	defer timer.Stop()
	cause = way.String()
	select {
	case <-p.dead:
	case <-timer.C:
		if way.point != "" || way.inCall {
			cause = "too late for " + cause
		}
		if way.leaves {
			_ = p.in.Close()
			w.await(p)
			w.complain(p)
			return w.caused(p.cmd.ProcessState.Success(), p, cause)
		}
		if way.drains {
			_ = p.in.Close()
			<-time.After(way.then)
		}
		_ = p.cmd.Process.Kill()
		<-p.dead
		if way.drains && p.cmd.ProcessState.Success() {
			return w.caused(true, p, drained) // it ended before
		}
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	w.complain(p)
	return w.caused(ok && status.Signaled() && status.Signal() == syscall.SIGKILL, p, cause)
}

// caused counts a cause if the process ended of it.
func (w *world) caused(ok bool, p *process, cause string) string {
	if !ok {
		w.errorf("process %d was to end by this: %s, and ended by itself: %v", p.number, cause, p.cmd.ProcessState)
		cause = "by itself"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[len(w.lives)-1].cause = cause
	return cause
}

// await waits for a process that was asked to end.
func (w *world) await(p *process) {
	select {
	case <-p.dead:
	case <-time.After(30 * time.Second):
		w.errorf("process %d does not come to an end", p.number)
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.dead
	}
}

// complain reports a process's messages to its operators. Only reports of earlier processes that died while
// driving a run are expected.
func (w *world) complain(p *process) {
	var rest strings.Builder
	for line := range strings.Lines(p.errors.String()) {
		if !strings.Contains(line, "a run has lost its drivers without getting on") {
			rest.WriteString(line)
		}
	}
	if text := rest.String(); text != "" {
		w.errorf("process %d says:\n%s", p.number, text[:min(len(text), 8000)])
	}
}

// finish lets a last process do the remaining work, and returns the record to check.
func (w *world) finish(people *sync.WaitGroup) bool {
	p := w.start("", lease)
	w.mu.Lock()
	w.last = true
	w.changed.Broadcast()
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		people.Wait()
		w.tidy()
		close(done)
	}()
	peace := time.Minute
	if w.lie != "" {
		peace = 3 * time.Second
	}
	limit := time.NewTimer(peace)
	defer limit.Stop()
	ok := false
	select {
	case <-done:
		ok = true
	case <-p.dead:
		w.errorf("the last process ended before all was done: %v", p.cmd.ProcessState)
	case <-limit.C:
		w.mu.Lock()
		w.errorf("after a while of peace, %d runs are open (%v), %d questions, and there are orders without an answer: %v",
			len(w.open), w.open, len(w.asked), w.unanswered())
		w.mu.Unlock()
	}
	if !ok {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	}
	closed := w.close(p)
	<-done
	return ok && closed
}

// close asks the last process to end, and the world with it.
func (w *world) close(p *process) bool {
	_ = p.in.Close()
	w.await(p)
	ok := p.cmd.ProcessState.Success()
	if !ok {
		w.errorf("the last process ended with %v", p.cmd.ProcessState)
	}
	w.complain(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	return ok
}

// end ends the world for everybody who waits in it. The caller holds the world's lock.
func (w *world) end() {
	if !w.over {
		w.over = true
		close(w.gone)
	}
	w.changed.Broadcast()
}

// until waits for a report of a process, and returns its time.
func (w *world) until(p *process, what func() bool) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !what() && w.process == p {
		w.changed.Wait()
	}
	return time.Now()
}

// tidy answers questions after the users have left, and waits until nothing is open: a message may have
// become a run that nobody waited for.
func (w *world) tidy() {
	answered := map[string]bool{}
	for {
		told := w.do(&order{Order: worker.Order{Do: worker.DoLook}})
		if told == nil || told.Open == nil || len(told.Open.Open) == 0 {
			return
		}
		for _, q := range told.Open.Questions {
			if !answered[q.Token] {
				answered[q.Token] = true
				w.do(&order{Order: worker.Order{Do: worker.DoAnswer, Conversation: q.Conversation, Token: q.Token, Text: "yes"}})
			}
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (w *world) unanswered() (open []worker.Order) {
	for _, o := range w.orders {
		if !o.answered {
			open = append(open, o.Order)
		}
	}
	return open
}

// Points that need special treatment.
const (
	pointRenew      = "drive/renew"
	pointReconciled = "tool/reconciled"
)

// visits is how often a process reaches a rare point. The other points are reached more often.
var visits = map[string]int{
	"worker/opened": 1, pointRenew: 1, pointReconciled: 1, "send/cancelled": 1,
	"send/posted": 2, "tool/asked": 3, "engine/admitted": 3,
}

// ways plans n deaths: half at the points, evenly, a quarter in a call, a quarter at random. Some processes
// between them end normally.
func ways(n int, points []string, random *rand.Rand) []way {
	// Deaths that belong together stay together.
	var groups [][]way
	next := random.IntN(len(points))
	for i := 0; i < n; i++ {
		switch {
		case i%2 == 0:
			at := way{point: points[next%len(points)]}
			next++
			most, few := visits[at.point]
			if !few {
				most = 6
			}
			at.at = 1 + random.IntN(most)
			if at.point == pointReconciled {
				// A process must first die while there is something to reconcile.
				groups = append(groups, []way{{inCall: true, tool: "book", at: 1, before: random.IntN(2) == 0}, at})
				i++
				continue
			}
			groups = append(groups, []way{at})
		case i%4 == 1:
			groups = append(groups, []way{{inCall: true, before: random.IntN(2) == 0, at: 1 + random.IntN(12)}})
		case i%16 == 3:
			groups = append(groups, []way{{drains: true, after: spell(random, 100), then: spell(random, 10)}})
		default:
			groups = append(groups, []way{{after: spell(random, 100)}})
		}
	}
	for range n / 25 {
		groups = append(groups, []way{{leaves: true, after: spell(random, 100)}})
	}
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	return slices.Concat(groups...)
}

func spell(random *rand.Rand, most int) time.Duration {
	return time.Duration(random.IntN(most*1000)) * time.Microsecond
}
