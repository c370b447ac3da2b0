package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A crowd does everything to a few conversations at once: nothing is the server's fault,
// every run that was accepted in a conversation that stays ends once, and nothing hangs.
func TestACrowd(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	var mu sync.Mutex
	var convs []string
	for range 4 {
		convs = append(convs, s.conversation())
	}
	pick := func() string {
		mu.Lock()
		defer mu.Unlock()
		return "/v1/conversations/" + convs[rand.IntN(len(convs))]
	}
	ask := func(method, path, body string, patience time.Duration, headers ...string) (int, string) {
		one, stop := context.WithTimeout(ctx, patience)
		defer stop()
		req, err := http.NewRequestWithContext(one, method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := s.Client().Do(req)
		if err != nil {
			return 0, "" // it left
		}
		defer res.Body.Close()
		raw, _ := io.ReadAll(res.Body) // a stream is left before its end
		if res.StatusCode >= 500 {
			t.Errorf("%s %s %s: %d %s", method, path, body, res.StatusCode, raw)
		}
		return res.StatusCode, string(raw)
	}
	var work sync.WaitGroup
	for i := range 16 {
		work.Go(func() {
			for n := range 30 {
				switch rand.IntN(12) {
				case 0, 1, 2:
					status, raw := ask("POST", pick()+"/runs", `{"user_input":"use clock"}`, time.Minute, "Idempotency-Key", fmt.Sprint(i/2, n))
					if ends := strings.Count(raw, "event: result\n") + strings.Count(raw, "event: error\n"); status == 200 && ends != 1 {
						t.Errorf("a stream with %d ends: %s", ends, raw)
					}
				case 3:
					ask("POST", pick()+"/runs", `{"user_input":"hello","policy":"queue"}`, time.Minute, "Accept", "application/json")
				case 4:
					ask("POST", pick()+"/runs", `{"user_input":"hello","policy":"steer"}`, time.Minute, "Prefer", "respond-async")
				case 5:
					ask("POST", pick()+"/runs", `{"user_input":"hello","policy":"interrupt"}`, time.Minute, "Prefer", "respond-async")
				case 6:
					ask("POST", pick()+"/runs", `{"user_input":"use clock","policy":"queue","on_disconnect":"cancel"}`, time.Duration(rand.IntN(3))*time.Millisecond)
				case 7:
					ask("POST", pick()+"/reset", "", time.Minute)
				case 8:
					if status, raw := ask("POST", pick()+"/fork", "", time.Minute); status == 201 {
						var fork struct {
							ID string `json:"id"`
						}
						if err := json.Unmarshal([]byte(raw), &fork); err != nil {
							t.Error(err)
						}
						mu.Lock()
						convs = append(convs, fork.ID)
						mu.Unlock()
					}
				case 9:
					ask("GET", pick()+"/export", "", time.Minute)
					ask("GET", pick()+"/runs", "", time.Minute)
				case 10:
					ask("GET", pick()+"/stream", "", 20*time.Millisecond)
				case 11:
					mu.Lock()
					var gone string
					if len(convs) > 4 {
						gone, convs = convs[4], append(convs[:4:4], convs[5:]...)
					}
					mu.Unlock()
					if gone != "" {
						if status, raw := ask("DELETE", "/v1/conversations/"+gone, "", time.Minute); status == 409 {
							mu.Lock()
							convs = append(convs, gone)
							mu.Unlock()
						} else if status != 204 {
							t.Errorf("deleting: %d %s", status, raw)
						}
					}
				}
			}
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		t.Fatal("the crowd hangs")
	}
	for _, conv := range convs {
		s.until(conv+" rests", func() bool { return s.json(200, "GET", "/v1/conversations/"+conv, "")["status"] == "idle" })
		for _, r := range s.json(200, "GET", "/v1/conversations/"+conv+"/runs", "")["data"].([]any) {
			run := r.(map[string]any)
			whole := s.json(200, "GET", "/v1/conversations/"+conv+"/runs/"+run["id"].(string), "")
			if whole["result"] == nil && whole["error"] == nil {
				t.Errorf("%v has no end", run)
			}
		}
	}
}
