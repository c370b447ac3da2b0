package decide

import (
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/shorten"
)

// longestNews bounds the text about one agent that the model gets, in bytes.
const longestNews = 1 << 20

// held reports whether a scope must not finish yet, because agents work for it in the background. The run's own scope waits
// where its model ended its turn; it does not wait for agents that may end with it. For every other reason the run ends, and they
// are cancelled. A scope of another agent always waits.
func held(s *fold.Scope, why event.Why) bool {
	if s.Depth > 0 {
		return s.Background.Works()
	}
	return s.Background.Holds() && (why == event.WhyEndTurn || why == event.WhyNothing)
}

// news tells the model what agents in the background came to; empty for none.
func news(ended []*fold.Scope) string {
	var words strings.Builder
	for i, s := range ended {
		if i > 0 {
			words.WriteString("\n\n")
		}
		words.WriteString("[The agent " + strconv.Quote(s.Agent) + ", which works in the background for the call " + s.Task.Call + ", has ended.]")
		if text := event.RawText(s.Closed.Output); text != "" {
			words.WriteString("\n\n" + shorten.Text(text, longestNews, " …"))
		}
		if err := s.Closed.Err; err != nil {
			words.WriteString("\n\nError: agent " + strconv.Quote(s.Agent) + ": " + err.Message + ".")
		}
	}
	return words.String()
}
