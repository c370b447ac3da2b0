package loopback_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid/internal/loopback"
)

func get(t *testing.T) {
	s := loopback.Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	defer s.Close()
	ask := func(path string, within time.Duration) (string, error) {
		client := *s.Client()
		client.Timeout = within
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return string(body), err
	}
	if got, err := ask("/", time.Minute); err != nil || got != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask("/slow", time.Millisecond); err == nil {
		t.Errorf("who gives up gets %q", got)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	get(t)
}

// In a bubble an hour passes at once, and the server's goroutines end with it.
func TestStartInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		get(t)
		time.Sleep(time.Hour)
	})
}
