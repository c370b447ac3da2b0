package braid_test

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
)

// The calls of one answer share goroutines where they are quick. None waits for another all the same: the last one of
// many ends those before it, some of which have ended their goroutines or panicked.
func TestNoToolOfAnAnswerWaitsForAnother(t *testing.T) {
	t.Parallel()
	const calls = 70
	type call struct{ N int }
	asked := make([]string, 0, 2*calls)
	for i := range calls {
		asked = append(asked, "meet", `{"N":`+strconv.Itoa(i)+`}`)
	}
	synctest.Test(t, func(t *testing.T) {
		last := make(chan struct{})
		meet := func(_ context.Context, in call) (string, error) {
			switch {
			case in.N == calls-1:
				close(last)
			case in.N%7 == 0: // it is quick
			case in.N%7 == 1:
				runtime.Goexit()
			case in.N%7 == 2:
				panic("oops")
			default:
				<-last
			}
			return "met " + strconv.Itoa(in.N), nil
		}
		agent := braid.New("a", answers(asksFor(asked...), says("done")), braid.Func("meet", "Meets the others.", meet),
			braid.Limit(braid.Limits{ToolTime: time.Hour}))
		conv := braid.NewConversation()
		begun := time.Now()
		if _, err := agent.Run(t.Context(), "go", braid.In(conv)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("the calls took %v", took)
		}
		got := results(t, conv)
		if len(got) != calls {
			t.Fatalf("%d results, want %d", len(got), calls)
		}
		met := 0
		for _, text := range got {
			if strings.HasPrefix(text, "met ") {
				met++
			}
		}
		if want := calls - 20; met != want {
			t.Errorf("%d calls met, want %d", met, want)
		}
	})
}
