//go:build unix

package nodes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// repeater is a client that only knows its request: it sends the same POST with the same key until a stream ends
// regularly.
type repeater struct {
	t          *testing.T
	conv       string
	path, body string
	header     http.Header
	// runs is the final number of runs of the conversation, and calls the number of model calls of the last one
	// without kills.
	runs, calls int
	// lists are the frames of each connection with a stream.
	lists [][]came
}

// everything means all frames.
const everything = 1 << 30

// came is a received frame.
type came struct {
	id, name string
	frame    native.Frame
}

func newRepeater(t *testing.T, conv, input string) *repeater {
	t.Helper()
	return &repeater{t: t, conv: conv, runs: 1, calls: 2, path: "/v1/conversations/" + conv + "/runs", body: `{"user_input":"` + input + `"}`, header: http.Header{
		"Authorization": {"Bearer " + plantedToken}, "Content-Type": {"application/json"}, "Idempotency-Key": {"k"},
	}}
}

// connect sends the request to a node and reads frames until there are most, the stream ended or it broke. It reports
// whether the terminal frame was received.
func (r *repeater) connect(ctx context.Context, url string, most int) (over bool) {
	r.t.Helper()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+r.path, strings.NewReader(r.body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header = r.header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false // the node is gone
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		r.t.Errorf("the repeated request is answered with %s %s", res.Status, b)
		return true
	}
	var list []came
	defer func() { r.lists = append(r.lists, list) }()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var c came
	var data string
	for lines.Scan() && len(list) < most {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			if data == "" { // a comment
				continue
			}
			if c.frame, err = native.Decode(c.name, []byte(data)); err != nil {
				r.t.Error(err)
			}
			list = append(list, c)
			if native.Terminal(c.frame) {
				return true
			}
			c, data = came{}, ""
		case "id":
			c.id = value
		case "event":
			c.name = value
		case "data":
			data += value
		}
	}
	return false
}

// durable returns the ids and names of frames for committed events.
func durable(list []came) (out []string) {
	for _, c := range list {
		switch c.frame.(type) {
		case *native.TextDelta, *native.Thinking, *native.Snapshot, *native.ToolProgress, *native.Notice, *native.Title:
			continue
		}
		out = append(out, c.id+" "+c.name)
	}
	return out
}

// check compares the received frames with the log as the API shows it. Each connection streamed the run from its
// beginning, with each event's id once, and the last one to its end. The shown text is that of the messages. There
// are as many runs as expected, and no finished step began again.
func (r *repeater) check(n *node, killed int) {
	r.t.Helper()
	ctx, api, conv := r.t.Context(), n.client(), r.conv
	runs, err := api.Runs(ctx, conv)
	if err != nil || len(runs) != r.runs {
		r.t.Fatalf("%d runs, want %d: %v", len(runs), r.runs, err)
	}
	run := runs[len(runs)-1]
	if run.Status != event.RunCompleted {
		r.t.Errorf("the run is %s", run.Status)
	}
	whole := &repeater{t: r.t, path: r.path, body: r.body, header: r.header}
	if !whole.connect(ctx, n.url, everything) {
		r.t.Fatal("the run's stream does not end")
	}
	want := durable(whole.lists[0])
	for i, list := range r.lists {
		got := durable(list)
		if last := i == len(r.lists)-1; last && !slices.Equal(got, want) || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			r.t.Errorf("connection %d of %d had\n%q, want\n%q", i+1, len(r.lists), got, want)
		}
		r.checkText(list)
	}
	begun, ended, calls := map[string]int{}, map[string]int{}, 0
	for e, err := range api.Events(ctx, conv, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		if e.Run != run.ID {
			continue
		}
		switch b := e.Body.(type) {
		case *event.StepBegun:
			if begun[e.Step]++; ended[e.Step] > 0 {
				r.t.Errorf("the step %s begins again after its end", e.Step)
			}
			if b.Step == event.StepModel {
				calls++
			}
		case *event.AssistantMessage:
			if !b.Piece {
				ended[e.Step]++
			}
		case *event.StepEnded:
			if b.Outcome != event.OutcomeLost {
				ended[e.Step]++
			}
		}
	}
	for step, n := range ended {
		if n != 1 {
			r.t.Errorf("the step %s ends %d times", step, n)
		}
	}
	if most := r.calls + killed; calls > most {
		r.t.Errorf("the model was called %d times over %d kills", calls, killed)
	}
}

// checkText requires the text that a client shows to be that of each complete message. A new attempt and a snapshot
// replace earlier text.
func (r *repeater) checkText(list []came) {
	r.t.Helper()
	shown := map[string]string{}
	at := func(p native.Place) string { return fmt.Sprint(p.Step, " ", p.Attempt) }
	for _, c := range list {
		switch f := c.frame.(type) {
		case *native.TextDelta:
			shown[at(f.Place)] += f.Text
		case *native.Snapshot:
			shown[at(f.Place)] = f.Text
		case *native.Message:
			if got := shown[at(f.Place)]; got != f.Text {
				r.t.Errorf("step %s shows %q, its message is %q", at(f.Place), got, f.Text)
			}
		}
	}
}

// paced returns the model of these tests. It is slow, so that a stream can be cut in the middle of an answer.
func paced() string { return script() + "?first_byte=50ms&rate=60" }

// people creates conversations with different requests.
func people(t *testing.T, n *node, round, many int) (list []*repeater) {
	t.Helper()
	for i := range many {
		conv, err := n.client().Create(t.Context(), client.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		input := []string{"pay r%d-%d", "look r%d-%d", "pay twice r%d-%d", "hello r%d-%d, how are you today?"}[i%4]
		list = append(list, newRepeater(t, conv.ID, fmt.Sprintf(input, round, i)))
	}
	return list
}

// all lets each client send its request, and waits until each has its number of frames, or all.
func all(list []*repeater, of func(i int, r *repeater)) {
	var wg sync.WaitGroup
	for i, r := range list {
		wg.Go(func() { of(i, r) })
	}
	wg.Wait()
}

// paidOnce requires that nothing was paid twice, whatever was killed.
func paidOnce(t *testing.T, l *ledger) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for e, n := range l.effects {
		if e.tool == "pay" && n > 1 {
			t.Errorf("%s was paid %d times", e.mark, n)
		}
	}
}

// A server is killed twice while it streams, at various places. Clients that repeat their requests get their runs
// complete and once.
func TestARepeatedRequestOverKills(t *testing.T) {
	t.Parallel()
	needed(t)
	l := newLedger(t)
	l.took = func(string) time.Duration { return 100 * time.Millisecond }
	args := []string{"--token-file", tokenFile(t), "--data", t.TempDir(), "--model", paced(), "--mcp", l.config(t)}
	pick := rand.New(rand.NewPCG(16, 7))
	rounds, cuts := 6, 0
	if testing.Short() {
		rounds = 1
	}
	n := serve(t, nil, args...)
	for round := range rounds {
		list := people(t, n, round, 8)
		over := make([]bool, len(list))
		for range 2 {
			most := make([]int, len(list))
			for i := range most {
				most[i] = 1 + pick.IntN(20)
			}
			all(list, func(i int, r *repeater) { over[i] = over[i] || r.connect(t.Context(), n.url, most[i]) })
			n.signal(syscall.SIGKILL)
			<-n.ended
			n = serve(t, nil, args...)
		}
		all(list, func(_ int, r *repeater) {
			if !r.connect(t.Context(), n.url, everything) {
				t.Errorf("the stream of the run in %s does not end", r.conv)
			}
		})
		for i, r := range list {
			r.check(n, 2)
			if !over[i] {
				cuts++
			}
		}
	}
	paidOnce(t, l)
	if cuts == 0 {
		t.Error("no run was under way when the server was killed")
	}
	t.Logf("%d of %d runs were under way when the server was killed", cuts, 8*rounds)
}

// A client repeats the request at another node of the same database, while the first one drives the run, and after it
// was killed and the other node waits for the lease. Each stream is complete.
func TestARepeatedRequestAtAnotherNode(t *testing.T) {
	t.Parallel()
	b := migrated(t, needed(t))
	l := newLedger(t)
	l.took = func(string) time.Duration { return 200 * time.Millisecond }
	env := []string{"BRAID_POSTGRES_URL=" + b.server}
	args := []string{"--token-file", tokenFile(t), "--model", paced(), "--mcp", l.config(t)}
	one, two := serve(t, env, args...), serve(t, env, args...)

	list := people(t, one, 0, 8)
	all(list, func(i int, r *repeater) {
		r.connect(t.Context(), one.url, 1+i)
		if !r.connect(t.Context(), two.url, everything) {
			t.Errorf("the stream of the run in %s does not end at the other node", r.conv)
		}
	})
	for _, r := range list {
		r.check(one, 0)
	}

	list = people(t, one, 1, 8)
	all(list, func(i int, r *repeater) { r.connect(t.Context(), one.url, 1+i) })
	one.signal(syscall.SIGKILL)
	<-one.ended
	all(list, func(_ int, r *repeater) {
		if !r.connect(t.Context(), two.url, everything) {
			t.Errorf("the stream of the run in %s was cut while it waited for the lease", r.conv)
		}
	})
	for _, r := range list {
		r.check(two, 1)
	}
	paidOnce(t, l)
}
