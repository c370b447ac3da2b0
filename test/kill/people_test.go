//go:build unix

package kill

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/test/kill/worker"
)

// person is a user who talks in one conversation after another until the world ends.
type person struct {
	world  *world
	name   string
	random *rand.Rand
	talks  int
	said   int
	// accepted are the conversation's accepted messages.
	accepted []*order
}

// people starts n users.
func (w *world) people(n int, random *rand.Rand) *sync.WaitGroup {
	var all sync.WaitGroup
	for i := range n {
		p := &person{world: w, name: fmt.Sprintf("p%d", i), random: rand.New(rand.NewPCG(random.Uint64(), 0))}
		all.Go(p.live)
	}
	return &all
}

func (p *person) live() {
	for {
		p.talks++
		p.accepted = nil
		talk := fmt.Sprintf("%s-%d", p.name, p.talks)
		p.world.watch(talk)
		for range 1 + p.random.IntN(4) {
			if !p.turn(talk) {
				return
			}
		}
		p.world.unwatch(talk)
	}
}

// turn starts a run, perhaps sends more during it, and waits until everything has ended. It
// reports whether to continue.
func (p *person) turn(talk string) bool {
	w := p.world
	w.mu.Lock()
	last := w.last || w.over
	w.mu.Unlock()
	if last {
		return false
	}
	if p.random.IntN(2) == 0 || p.accepted == nil {
		p.say(talk, worker.DoSubmit, "", p.plan())
	} else {
		p.say(talk, worker.DoSend, p.policy(), p.plan())
	}
	if p.accepted == nil {
		return false // the world has ended
	}
	for range p.random.IntN(3) {
		if p.random.IntN(2) == 0 {
			p.watch(talk, 1+p.random.IntN(6))
		}
		if p.random.IntN(6) == 0 {
			p.repeat()
			continue
		}
		policy := p.policy()
		what := "and mind this"
		if policy != braid.Steer || p.random.IntN(2) == 0 {
			what = p.plan()
		}
		p.say(talk, worker.DoSend, policy, what)
	}
	return p.rest(talk)
}

// policy picks one of the four policies. Those that do not interrupt are more frequent, because
// an interrupted run shows less.
func (p *person) policy() braid.Policy {
	return []braid.Policy{
		braid.Queue, braid.Queue, braid.Steer, braid.Steer, braid.Steer, braid.Interrupt, braid.Reject,
	}[p.random.IntN(7)]
}

// say sends a message and waits for its acknowledgement.
func (p *person) say(talk string, do worker.Do, policy braid.Policy, what string) {
	p.said++
	mark := fmt.Sprintf("%s.%d", talk, p.said)
	o := &order{mark: mark, Order: worker.Order{
		Do: do, Conversation: talk, Key: "k-" + mark, Policy: policy, Text: what + " <" + mark + ">",
	}}
	if told := p.world.do(o); told != nil && told.Error == "" {
		p.accepted = append(p.accepted, o)
	}
}

// repeat sends an accepted message again, which must change nothing.
func (p *person) repeat() {
	o := *p.accepted[p.random.IntN(len(p.accepted))]
	o.told, o.answered, o.again = nil, false, true
	p.world.do(&o)
}

// watch waits until that many further events of the conversation were seen, or none can come
// because nothing is open or a question is.
func (p *person) watch(talk string, n int) {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for until := w.seen[talk] + n; w.seen[talk] < until && w.isOpen(talk) && w.question(talk, nil) == "" && !w.over; {
		w.changed.Wait()
	}
}

// rest waits until nothing of the conversation is open, and answers questions meanwhile. It
// reports whether to continue.
func (p *person) rest(talk string) bool {
	w := p.world
	answered := map[string]bool{}
	for {
		token := ""
		w.mu.Lock()
		for !w.over {
			token = w.question(talk, answered)
			if token != "" || !w.isOpen(talk) {
				break
			}
			w.changed.Wait()
		}
		over := w.over
		w.mu.Unlock()
		switch {
		case over:
			return false
		case token == "":
			return true
		}
		answered[token] = true
		p.said++
		told := w.do(&order{Order: worker.Order{
			Do: worker.DoAnswer, Conversation: talk, Token: token, Text: fmt.Sprintf("yes-%s.%d", talk, p.said),
		}})
		// An earlier process may have taken the answer and died before the reply, or the run
		// was interrupted.
		if told != nil && told.Error != "" && told.Error != event.ErrNotFound && told.Error != event.ErrConflict {
			w.errorf("an answer is refused: %s", told.Says)
		}
		if p.random.IntN(4) == 0 {
			// A second answer that differs comes too late.
			w.do(&order{again: true, Order: worker.Order{Do: worker.DoAnswer, Conversation: talk, Token: token, Text: "no"}})
		}
	}
}

// isOpen reports whether a run of the conversation is open. The caller holds the world's lock.
func (w *world) isOpen(talk string) bool {
	for _, conversation := range w.open {
		if conversation == talk {
			return true
		}
	}
	return false
}

// question finds an open question. The caller holds the world's lock.
func (w *world) question(talk string, answered map[string]bool) string {
	for token, conversation := range w.asked {
		if conversation == talk && !answered[token] {
			return token
		}
	}
	return ""
}

// plan makes up the agent's work: up to three cycles of up to five tools, sometimes including a
// helper.
func (p *person) plan() string {
	cycles := make([]string, p.random.IntN(4))
	for i := range cycles {
		var tools []string
		for range 1 + p.random.IntN(3)*p.random.IntN(3) {
			tools = append(tools, p.tool())
		}
		if p.random.IntN(4) == 0 {
			inner := make([]string, 1+p.random.IntN(2))
			for j := range inner {
				inner[j] = p.tool() + "+" + p.tool()
			}
			tools = append(tools, worker.HelperName+":"+strings.Join(inner, ";"))
		}
		cycles[i] = strings.Join(tools, ",")
	}
	if len(cycles) == 0 {
		return "say something"
	}
	return "do " + strings.Join(cycles, "|")
}

func (p *person) tool() string {
	return []string{"look", "file", "file", "book", "book", "pay", "pay", "wait", "permit"}[p.random.IntN(9)]
}
