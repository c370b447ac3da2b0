package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/internal/race"
)

// Large inputs leave a server within the memory it plans with, one after the other and many at once, through the native
// API and AgentCore's. What does not fit is refused with 413, or with 429 or 503 and a Retry-After.
func TestLargeInputsHarmNobody(t *testing.T) {
	t.Parallel()
	if race.On {
		t.Skip("the race detector takes memory of its own")
	}
	plan, conversations, input, body, most := "128MiB", 6, 1900<<10, 24<<20, 256
	if full() {
		plan, conversations, input, body, most = "512MiB", 60, 7_900_000, 95<<20, 512
	}
	s := attackedServer(t, "--agentcore", "--memory", plan)
	within := func(what string) {
		t.Helper()
		t.Logf("after %s: %d MiB resident", what, s.peak()>>20)
		if peak := s.peak() >> 20; peak > most {
			t.Errorf("after %s: %d MiB resident, want at most %d", what, peak, most)
		}
	}
	native := func(text string) received {
		conv := s.json(201, "POST", "/v1/conversations", "", bearer(s.attacker)...)["id"].(string)
		return s.attack("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"`+text+`"}`, bearer(s.attacker)...)
	}
	agentCore := func(text string) received {
		return s.attack("POST", "/invocations", `{"prompt":"`+text+`"}`, bearer(s.token)...)
	}
	text := strings.Repeat("lorem ips ", input/10)
	atOnce := func(n int, send func(string) received, text string) (taken int) {
		var all sync.WaitGroup
		answers := make([]received, n)
		for i := range answers {
			all.Go(func() { answers[i] = send(text) })
		}
		all.Wait()
		for _, a := range answers {
			switch a.status {
			case 0, http.StatusRequestEntityTooLarge: // 0 is a connection that was cut while the client sent
			case http.StatusOK:
				taken++
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				if a.retryAfter == "" {
					t.Errorf("a %d has no Retry-After: %s", a.status, a.body)
				}
			default:
				t.Errorf("an input of %d bytes: %d %s", len(text), a.status, a.body)
			}
		}
		return taken
	}

	for range conversations {
		if a := native(text); a.status != http.StatusOK {
			t.Fatalf("an input of %d bytes: %d %s", len(text), a.status, a.body)
		}
	}
	within("inputs one after the other")
	if taken := atOnce(conversations, native, text); taken == 0 {
		t.Error("no input of many at once was taken")
	}
	within("inputs at once")
	if taken := atOnce(10, agentCore, strings.Repeat(text, 3)); taken == 0 {
		t.Error("no invocation of many at once was taken")
	}
	within("invocations at once")
	if taken := atOnce(10, agentCore, strings.Repeat("a", body)) + atOnce(10, native, strings.Repeat("a", body)); taken > 0 {
		t.Errorf("%d bodies of %d bytes were taken", taken, body)
	}
	within("bodies that are too large at once")
	s.unharmed()
}
