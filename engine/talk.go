package engine

import "slices"

// talk holds the tasks of one conversation in the order of their turns. Only one of them may be
// ready or running: the journal would refuse the others.
type talk struct{ tasks []*task }

// talkKey names a conversation.
type talkKey struct{ tenant, conversation string }

func (t *task) talkKey() talkKey { return talkKey{t.run.Tenant, t.run.Conversation} }

// add inserts a task in order. A woken run may come without its turn: it is the conversation's
// first, because later ones have not begun.
func (k *talk) add(t *task) {
	i := len(k.tasks)
	for i > 0 && k.tasks[i-1].run.Turn > t.run.Turn {
		i--
	}
	k.tasks = slices.Insert(k.tasks, i, t)
}

func (k *talk) remove(t *task) {
	k.tasks = slices.DeleteFunc(k.tasks, func(o *task) bool { return o == t })
}

// settle makes the first task ready that the journal has not refused, and blocks the others. While
// one is running, all are blocked.
func (q *queue) settle(k *talk) {
	var first *task
	for _, t := range k.tasks {
		if t.state == running {
			first = nil
			break
		}
		if first == nil && !t.refused {
			first = t
		}
	}
	for _, t := range k.tasks {
		if t != first && t.state == ready {
			q.set(t, blocked)
		}
	}
	if first != nil && first.state != delayed {
		q.set(first, ready)
	}
}

// again clears the journal's refusals, because a run of the conversation has ended.
func (k *talk) again() {
	for _, t := range k.tasks {
		t.refused = false
	}
}
