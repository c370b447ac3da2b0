package engine

import "slices"

// talk is the tasks of one conversation in the order of their turns. One of them
// at a time may be ready or running: the journal would refuse the others.
type talk struct{ tasks []*task }

// talkKey names a conversation.
type talkKey struct{ tenant, conversation string }

func (t *task) talkKey() talkKey { return talkKey{t.run.Tenant, t.run.Conversation} }

// add puts a task in its place. A run that was woken may come without its turn:
// it is the conversation's first, because later ones have not begun.
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

// settle makes the first task ready that the journal has not refused, and has
// the others wait. While one is running, all wait.
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

// again forgets what the journal refused: a run of the conversation has ended.
func (k *talk) again() {
	for _, t := range k.tasks {
		t.refused = false
	}
}
