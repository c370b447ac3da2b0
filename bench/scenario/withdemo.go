package scenario

import (
	"github.com/braidrun/braid/model/demo"
)

// braidDemo streams the same text from the model that newcomers meet and load
// tests use. It is no part of the contract: it shows what the demo model costs
// on top of the library, and that as a load generator it is not the bottleneck.
func braidDemo(script []answer) Side {
	side := Side{Name: "braid, demo model", Each: work(script)}
	m, err := demo.New(demo.Replies("bench", []demo.Piece{demo.Say(side.Each.Text)}))
	if err != nil {
		side.Batch = func(int) func() (Work, error) {
			return func() (Work, error) { return Work{}, err }
		}
		return side
	}
	side.Batch = braidRuns(side.Name, m, side.Each).Batch
	return side
}
