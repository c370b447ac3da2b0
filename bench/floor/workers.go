package floor

import "sync"

// job is one tool call for a worker.
type job struct {
	do   func()
	done *sync.WaitGroup
}

// jobs reach a worker that has nothing to do. It is nil before [KeepWorkers].
var jobs chan job

// KeepWorkers makes workers stay for later calls, because their stacks have grown: a new goroutine
// for each call spends two thirds of its time on growing its own in encoding/json.
var KeepWorkers = sync.OnceFunc(func() { jobs = make(chan job) })

// beside runs do on a worker, which may be a new one.
func beside(wg *sync.WaitGroup, do func()) {
	wg.Add(1)
	j := job{do, wg}
	select {
	case jobs <- j:
	default:
		go work(j)
	}
}

func work(j job) {
	for {
		j.do()
		j.done.Done()
		if jobs == nil {
			return
		}
		j = <-jobs
	}
}
