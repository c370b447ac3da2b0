//go:build unix

package kill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/test/kill/ledger"
	"github.com/braidrun/braid/test/kill/worker"
)

// lostDrivers is how many drivers a run may lose in a row without progress, by default.
const lostDrivers = 3

// deadlyFigures counts what happened with tools that end their process.
type deadlyFigures struct {
	processes, exits, deaths, lucky int
	poisoned, unread, beside        int
	unlucky                         int
	failures, retries, helped       int
	requests, repeated              int
}

func (f *deadlyFigures) String() string {
	return fmt.Sprintf("%d processes ended, %d of them by exiting, over %d calls; %d calls lived in the end\n"+
		"%d poison runs ended, %d of them unread; %d runs went on behind a death, %d were killed too often by others\n"+
		"%d runs failed for another reason, %d retries, %d runs that continued one completed\n"+
		"%d calls of plans, %d of them made again after a death",
		f.processes, f.exits, f.deaths, f.lucky, f.poisoned, f.unread, f.beside, f.unlucky, f.failures, f.retries, f.helped, f.requests, f.repeated)
}

// Some tools end their process a few times, some always, at various moments. Models fail for good. Failed runs are
// continued until they complete. No other run is affected.
func TestDeadlyTools(t *testing.T) {
	t.Parallel()
	seed := number(t, "BRAID_KILL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("BRAID_KILL_SEED=%d", seed)
	turns := int(number(t, "BRAID_KILLS", 1000)) / 250
	if testing.Short() {
		turns = 1
	}
	w := newWorld(t, built(t), "")
	began := time.Now()
	exits, ok := w.playDeadly(rand.New(rand.NewPCG(seed, 6)), turns, 1<<20)
	if !ok {
		return
	}
	r, err := w.record()
	if err != nil {
		t.Fatal(err)
	}
	found, count := r.check()
	report(t, found)
	d := &count.deadly
	d.processes, d.exits = len(w.lives)-1, exits
	t.Logf("%v: %s\n%s", time.Since(began).Round(time.Second), count.String(), d.String())
	if d.exits == 0 || d.exits == d.processes || d.unread != 2 || d.poisoned < d.unread+4*((turns+1)/2) || d.retries == 0 {
		t.Error("too little happened")
	}
}

// The checks find planted bugs in the bound on lost drivers and in continued runs, under the broken promise.
func TestPlantedAmongDeadlyTools(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it plays worlds until each bug is found")
	}
	program := built(t)
	for bug, breaks := range map[string]promise{
		"deadly run driven for ever":   poison,
		"continued from the beginning": retried,
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				w := newWorld(t, program, worker.Lie(worker.LiePlanted+bug))
				w.playDeadly(rand.New(rand.NewPCG(seed, 6)), 1, 20)
				r, err := w.record()
				if err != nil {
					t.Fatal(err)
				}
				found, _ := r.check()
				for _, f := range found {
					if f.promise == breaks {
						t.Logf("found in world %d: %s", seed+1, f.says)
						return
					}
				}
			}
			t.Errorf("nobody found out that %q breaks %q", bug, breaks)
		})
	}
}

// playDeadly lets users talk with the agent whose tools end their process, for some turns each and over a bounded number
// of processes. exits counts the processes that exited by themselves. ok is false if the turns were not completed.
func (w *world) playDeadly(random *rand.Rand, turns, most int) (exits int, ok bool) {
	w.deadly = true
	w.ledger.Set(ledger.Hook{Before: w.othersFirst})
	var people sync.WaitGroup
	for i := range 4 {
		p := &person{world: w, name: fmt.Sprintf("d%d", i), random: rand.New(rand.NewPCG(random.Uint64(), 0))}
		people.Go(func() { p.sendDeadly(turns) })
	}
	people.Go(func() {
		p := &person{world: w, name: worker.Cursed}
		p.sendUnreadable()
	})
	done := make(chan struct{})
	go func() { people.Wait(); close(done) }()
	for range most {
		p := w.start("", lease)
		select {
		case <-done:
			return exits, w.close(p)
		case <-p.dead:
			w.complain(p)
			status, is := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
			switch {
			case p.cmd.ProcessState.ExitCode() == worker.Exited:
				exits++
			case !is || status.Signal() != syscall.SIGKILL:
				w.errorf("process %d ended by itself: %v", p.number, p.cmd.ProcessState)
			}
			continue
		case <-time.After(4 * time.Minute):
			w.mu.Lock()
			w.errorf("process %d does not get on; open are %v", p.number, w.open)
			w.mu.Unlock()
			_ = p.cmd.Process.Signal(syscall.SIGQUIT)
			<-p.dead
			w.errorf("it says:\n%s", p.errors.String()[:min(p.errors.Len(), 8000)])
		}
		break
	}
	w.mu.Lock()
	w.end()
	w.mu.Unlock()
	<-done
	return exits, false
}

// othersFirst delays a call that ends its process until all other runs of the process have made progress. So the killed
// run is to blame. A run that begins at this moment may still be affected, but not three times in a row.
func (w *world) othersFirst(e ledger.Entry) bool {
	if e.Op != ledger.Fate || e.Kind == event.StepModel || e.Run == "" {
		return true
	}
	limit := time.AfterFunc(5*time.Second, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	defer limit.Stop()
	until := time.Now().Add(5 * time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.process
	if p == nil || p.number != e.Process {
		return true
	}
	p.doomed = append(p.doomed, e.Run)
	w.changed.Broadcast()
	for w.process == p && time.Now().Before(until) {
		waits := false
		for run, moved := range p.drives {
			waits = waits || !moved && !slices.Contains(p.doomed, run)
		}
		if !waits {
			break
		}
		w.changed.Wait()
	}
	return true
}

// sendDeadly sends n messages, in new conversations or in the last one, and continues failed runs until they
// complete.
func (p *person) sendDeadly(turns int) {
	talk := ""
	for n := range turns {
		if n == 0 || p.random.IntN(2) == 0 {
			p.talks++
			talk = fmt.Sprintf("%s-%d", p.name, p.talks)
		}
		p.say(talk, worker.DoSubmit, "", "do "+p.deadlyPlan(n))
		for retry := 1; p.rest(talk); retry++ {
			told := p.world.do(&order{Order: worker.Order{
				Do: worker.DoRetry, Conversation: talk, Key: fmt.Sprintf("again-%s.%d.%d", talk, p.said, retry),
			}})
			if told == nil || told.Run == "" {
				break
			}
		}
	}
}

// sendUnreadable sends two messages to a conversation that cannot be read.
func (p *person) sendUnreadable() {
	for range 2 {
		p.say(worker.Cursed, worker.DoSubmit, "", "do look")
		p.rest(worker.Cursed)
	}
}

// deadlyPlan makes three to four cycles of tools, some of which end their process. Each user's n-th turn has one that
// always does, or none.
func (p *person) deadlyPlan(n int) string {
	pick := func(list ...string) string { return list[p.random.IntN(len(list))] }
	cycles := []string{pick("look", "file,pay", "book,look")}
	if n%2 == 0 {
		how := "k" // so that some are always killed
		if n > 0 {
			how = pick("x", "k")
		}
		cycles = append(cycles, pick("file", "pay", "look")+","+worker.FallName+":"+fmt.Sprint(worker.Always)+pick("a", "b")+how)
	}
	if p.random.IntN(2) == 0 {
		cycles = append(cycles, pick(
			worker.FallName+":1"+pick("a", "b")+pick("x", "k")+",pay",
			worker.FallName+":2"+pick("a", "b")+pick("x", "k"),
			worker.BurnName+":1"+pick("a", "b")+pick("x", "k")+",book",
		))
	}
	if p.random.IntN(2) == 0 {
		cycles = append(cycles, worker.FailWord+":"+pick("1", "2")+","+pick("pay", "file", "book"))
	}
	if len(cycles) == 1 {
		cycles = append(cycles, pick("pay", "book,file"))
	}
	return strings.Join(append(cycles, pick("look", "pay")), "|")
}

// checkDeadly compares a deadly world with its promises.
func (c *checker) checkDeadly() {
	f := &c.count.deadly
	dies := map[string]int{}
	asked := map[string]*ledger.Entry{}
	since := c.lastProgress()
	for i := range c.entries {
		e := &c.entries[i]
		if e.Op != ledger.Fate || e.Kind == event.StepModel {
			continue
		}
		asked[e.Request] = e
		if e.Dies {
			f.deaths++
			if e.Process >= since[e.Run] {
				dies[e.Request]++
			}
		}
	}
	deadly, armed := map[string]bool{}, map[string]bool{} // runs with a call that always kills, and with one that kills
	for request, e := range asked {
		if e.Run == "" {
			continue // this entry is a log
		}
		armed[e.Run] = true
		if dies[request] > lostDrivers {
			c.find(poison, "call %s of %s ended %d processes in a row", request, e.Run, dies[request])
		}
		if e.Most == worker.Always {
			deadly[e.Run] = true
		} else if !e.Dies {
			f.lucky++
		}
	}
	for i := range c.talks {
		c.checkDeadlyTalk(&c.talks[i], deadly, armed)
	}
	c.checkRequests()
}

// lastProgress returns the process in which each run last made progress.
func (c *checker) lastProgress() map[string]int {
	last := map[string]int{}
	for i := range c.talks {
		events := c.talks[i].events
		for j, e := range events {
			if _, ends := e.Body.(*event.RunEnded); !ends && journal.Progresses(events[j:j+1]) && !closesWith(events[j:]) {
				last[e.Run] = c.lifeOf(e.Time)
			}
		}
	}
	return last
}

// checkDeadlyTalk checks how the runs of a conversation ended.
func (c *checker) checkDeadlyTalk(t *talk, deadly, armed map[string]bool) {
	f := &c.count.deadly
	cursed := strings.HasPrefix(t.id, worker.Cursed)
	begun, continues, worked, unlucky := map[string]int{}, map[string]bool{}, map[string]bool{}, false
	since := c.lastProgress()
	for _, e := range t.events {
		switch b := e.Body.(type) {
		case *event.StepEnded, *event.AssistantMessage:
			worked[e.Run] = true
		case *event.RunStarted:
			unlucky = false
			begun[e.Run] = c.lifeOf(e.Time)
			if continues[e.Run] = b.Continues != ""; continues[e.Run] {
				f.retries++
			}
		case *event.RunEnded:
			kind := event.ErrorKind("")
			if b.Err != nil {
				kind = b.Err.Kind
			}
			switch {
			case kind == event.ErrPoisoned:
				f.poisoned++
				if b.Err.Code != "" {
					f.unread++
				}
				if lost := c.lifeOf(e.Time) - since[e.Run]; lost < lostDrivers && !cursed {
					c.find(poison, "%s: run %s ended because of %d drivers that were lost", t.id, e.Run, lost)
				}
				// Other runs killed it before its first step ended, so there is nothing to continue.
				unlucky = !worked[e.Run] && !continues[e.Run]
				if !armed[e.Run] && !cursed {
					f.unlucky++
				}
			case deadly[e.Run]:
				c.find(poison, "%s: run %s has a call that always ends its process, and is %s", t.id, e.Run, b.Status)
			case b.Status == event.RunFailed:
				f.failures++
			case continues[e.Run] && b.Status == event.RunCompleted:
				f.helped++
			}
			if b.Status == event.RunCompleted && c.lifeOf(e.Time) > begun[e.Run] {
				f.beside++
			}
		}
	}
	if last := &t.runs[len(t.runs)-1]; last.Status != event.RunCompleted && !cursed && !unlucky && !c.partial {
		c.find(retried, "%s: its last run is %s, whatever was continued", t.id, last.Status)
	}
}

// closesWith reports whether the first event closes a call because its run ends: the end has the same time.
func closesWith(events []*event.Event) bool {
	for _, e := range events {
		if _, ok := e.Body.(*event.RunEnded); ok && e.Run == events[0].Run {
			return e.Time.Equal(events[0].Time)
		}
	}
	return false
}

// checkRequests checks that one step makes each planned call, however many runs continue it, and that its effect happens
// once, or as its class allows.
func (c *checker) checkRequests() {
	f := &c.count.deadly
	steps := map[string]stepKey{}
	lines := map[string]int{}
	for i := range c.entries {
		e := &c.entries[i]
		if e.Request == "" || e.Step == "" {
			continue
		}
		key := stepKey{e.Run, e.Step}
		if was, ok := steps[e.Request]; ok && was != key {
			c.find(retried, "call %s was made by %s of %s and by %s of %s", e.Request, was.step, was.run, key.step, key.run)
		}
		steps[e.Request] = key
		if e.Op == ledger.Effect {
			lines[e.Request]++
		}
	}
	f.requests = len(steps)
	for request, key := range steps {
		s := c.steps[key]
		switch {
		case s == nil:
		case lines[request] > 1 && len(s.begun) < lines[request]:
			c.find(once, "call %s happened %d times, and began %d times", request, lines[request], len(s.begun))
		case lines[request] > 1 && s.effect == event.EffectUnsafe:
			c.find(effects, "call %s is unsafe and happened %d times", request, lines[request])
		case lines[request] > 1:
			f.repeated++
		}
	}
}
