package models

import "time"

// Warning says what is not known of a model that was opened all the same.
type Warning struct {
	// Model is its name in its Info.
	Model string
	// Text is one sentence.
	Text string
	// Next is what the user can do about it.
	Next string
}

// doubtful returns a warning if there is one. Models at a user's own address are in no table and
// get none.
func doubtful(m *priced, g *opening) (Warning, bool) {
	w := Warning{Model: m.info.Name}
	price := m.price(time.Now())
	switch known := m.info.ContextWindow > 0; {
	case price != nil && price.RanOut != "":
		w.Text = "The price of " + w.Model + " was promised until " + price.RanOut + "; its costs are still counted by it."
		w.Next = "give its new price in a table of your own: --prices FILE"
	case g.place != "" || known && price != nil:
		return w, false
	case !known && price == nil:
		w.Text = "Nothing is known of " + w.Model + ": its costs are not counted, and its context is taken to be 200,000 tokens."
		w.Next = "check the name, or give its price with --prices FILE and its context with --context-tokens N"
	case price == nil:
		w.Text = "The price of " + w.Model + " is not known, so its costs are not counted."
		w.Next = "give it in a table of your own: --prices FILE"
	default:
		w.Text = "The context window of " + w.Model + " is not known; it is taken to be 200,000 tokens."
		w.Next = "say it with --context-tokens N"
	}
	return w, true
}
