package scenario

import (
	"errors"
	"fmt"
)

// Work is what a reader saw of some runs.
type Work struct {
	// Runs is how many runs there were.
	Runs int
	// Deltas counts pieces of text and of arguments, Calls the calls that stand
	// in the model's messages, Results the tools' results.
	Deltas  int
	Calls   int
	Results int
	// Text is the last message of the last run.
	Text string
	// Made is the last thing that was constructed. It is here so that the
	// compiler cannot leave the construction out; it is not compared.
	Made any
}

// Batch prepares n runs and gives the function that does them. Only that
// function is timed. It is called once.
type Batch func(n int) func() (Work, error)

// Side is one form of a scenario.
type Side struct {
	// Name is "floor", "braid" or what else distinguishes the two sides.
	Name string
	// Most is the largest n that Batch takes without the runs getting in each
	// other's way; 0 is any.
	Most  int
	Batch Batch
	// Each is the work of one run.
	Each Work
}

// Do prepares n runs and does them, and reports an error when they did not do
// n times the work of one.
func (s *Side) Do(n int) error { return s.Check(n, s.Batch(n)) }

// Check does the prepared runs of a batch of n and compares the work.
func (s *Side) Check(n int, run func() (Work, error)) error {
	got, err := run()
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return s.Compare(n, got)
}

// Compare reports an error when got is not n times the work of one run.
func (s *Side) Compare(n int, got Work) error {
	want := Work{
		Runs: n, Deltas: n * s.Each.Deltas, Calls: n * s.Each.Calls, Results: n * s.Each.Results,
		Text: s.Each.Text,
	}
	got.Made = nil
	if got != want {
		return fmt.Errorf("%s did other work than it should: %v instead of %v", s.Name, got, want)
	}
	return nil
}

// String names the figures; a long text is cut.
func (w Work) String() string {
	return fmt.Sprintf("%d runs, %d deltas, %d calls, %d results, %d bytes of text %.20q",
		w.Runs, w.Deltas, w.Calls, w.Results, len(w.Text), w.Text)
}

// Pair is one row: two sides that are timed in turns, and whose ratio counts.
type Pair struct {
	// ID is short and unique; its first letter is the scenario in the
	// contract.
	ID string
	// Name says what one run does.
	Name string
	// Item names what a run has Items of, for allocations an item; "" for none.
	Item  string
	Items int
	// Base is what Subject is divided by.
	Base    Side
	Subject Side
	// Close frees what the sides keep between batches; nil where they keep nothing.
	Close func() error
}

var errNoEvents = errors.New("the stream ended without a message")
