package journal

import "context"

// AdmitAndAcquire does what [Store].Start promises as two changes: Admit, then Acquire. Stores that lose nothing by that
// use it, and wrappers that change one of the two.
func AdmitAndAcquire(ctx context.Context, s Store, r Run, have int64) (Opened, error) {
	run, err := s.Admit(ctx, r)
	if err != nil {
		return Opened{}, err
	}
	opened, err := s.Acquire(ctx, run.ID, have)
	if err != nil {
		return Opened{Run: run}, err
	}
	return opened, nil
}

// Start implements [Store].
func (m *Memory) Start(ctx context.Context, r Run, have int64) (Opened, error) {
	return AdmitAndAcquire(ctx, m, r, have)
}
