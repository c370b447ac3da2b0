package drive

// phase says how far a drive has come. The driver's goroutine alone reads and writes it. These are the changes:
//
//	from      to          when
//	driving   draining    the engine drains, or the process is about to end
//	driving   stopping    the run is to stop: somebody cancelled it, its time is over, or a hook failed
//	driving   parked      nothing runs, and nothing will for a while
//	driving   ended       the run has ended
//	draining  stopping    somebody cancelled the run while it was handed back
//	draining  handedBack  nothing is in flight any more
//	draining  ended       the run ended in the round in which the drain began
//	stopping  ended       all scopes have ended
//	stopping  parked      a hook failed while the run was stopped, and nothing has ended it
//	any       crashed     the drive panicked
type phase uint8

const (
	// phaseDriving: the driver decides, begins steps and waits for them.
	phaseDriving phase = iota
	// phaseDraining: nothing new begins, because another driver is to go on with the run.
	phaseDraining
	// phaseStopping: all scopes end. It begins with a round, so that one round decides alike for all scopes.
	phaseStopping
	// phaseParked: the lease was given back, and the run waits for an answer or a time.
	phaseParked
	// phaseHandedBack: the lease was given back, and another driver goes on.
	phaseHandedBack
	// phaseEnded: the run has ended.
	phaseEnded
	// phaseCrashed: the drive panicked. The caller ends the run, under the same lease.
	phaseCrashed
)

// over reports whether the drive has ended.
func (p phase) over() bool { return p >= phaseParked }
