package vendortest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/model/internal/vendortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server that refuses requests containing "no".
func start(t *testing.T, answers ...vendortest.Answer) (s *vendortest.Server, learned *[]string) {
	t.Helper()
	learned = &[]string{}
	vendortest.Start(&s, vendortest.Rules{
		Type: "text/plain", ID: "X-Number", Largest: 10,
		Check: func(_ *http.Request, body []byte) *vendortest.Refusal {
			switch {
			case len(body) > 10:
				return &vendortest.Refusal{Why: "too long", Answer: vendortest.Answer{Status: http.StatusRequestEntityTooLarge}}
			case strings.Contains(string(body), "no"):
				return &vendortest.Refusal{Why: "no means no", Answer: vendortest.Answer{Status: http.StatusBadRequest, Body: "refused"}}
			default:
				return nil
			}
		},
		Learn:      func(a vendortest.Answer) { *learned = append(*learned, a.Body) },
		Unprepared: vendortest.Answer{Status: http.StatusInternalServerError, Body: "unprepared"},
	}, answers...)
	t.Cleanup(s.Close)
	return s, learned
}

func ask(ctx context.Context, t *testing.T, s *vendortest.Server, body string) (status int, header http.Header, answer string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/a%2Fb", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(all), err
}

func TestAnswersInTheirOrder(t *testing.T) {
	t.Parallel()
	s, learned := start(t, vendortest.Answer{Body: "one"}, vendortest.Answer{Body: "two", Status: http.StatusAccepted, Header: map[string]string{"Content-Type": "x/y"}})
	s.Add(vendortest.Answer{Body: "three", Slow: true}, vendortest.Answer{Body: "four", Short: 2})
	for _, tc := range []struct {
		body   string
		status int
		kind   string
		want   string
	}{
		{"a", 200, "text/plain", "one"},
		{"no", 400, "text/plain", "refused"},
		{"b", 202, "x/y", "two"},
		{"far too long a body", 413, "text/plain", ""},
		{"c", 200, "text/plain", "three"},
		{"d", 200, "text/plain", "fo"},
		{"e", 500, "text/plain", "unprepared"},
	} {
		status, header, got, err := ask(t.Context(), t, s, tc.body)
		if err != nil || status != tc.status || got != tc.want || header.Get("Content-Type") != tc.kind {
			t.Errorf("%s: %d %s %q, %v", tc.body, status, header, got, err)
		}
	}
	asked := s.Asked()
	if len(asked) != 7 || asked[1].Refused != "no means no" || asked[0].Refused != "" || asked[0].Path != "/a%2Fb" || string(asked[2].Body) != "b" {
		t.Errorf("%+v", asked)
	}
	if len(*learned) > 0 {
		t.Errorf("it has learned %q, and nobody asked", *learned)
	}
	s.Recall()
	s.Add(vendortest.Answer{Body: "five"})
	s.Recall()
	if got := strings.Join(*learned, " "); got != "one two three four five" {
		t.Errorf("it has learned %q", got)
	}
	if !strings.HasSuffix(s.URL, s.Host()) {
		t.Errorf("%s, %s", s.URL, s.Host())
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, vendortest.Answer{Body: "whole", Cut: 3}, vendortest.Answer{Body: "begun", Stall: true}, vendortest.Answer{Silent: true})
		if _, _, got, err := ask(t.Context(), t, s, "a"); err == nil || got != "who" {
			t.Errorf("cut: %q, %v", got, err)
		}
		for _, what := range []string{"stall", "silence"} {
			if s.Left(time.Millisecond) {
				t.Errorf("%s: somebody has left already", what)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if _, _, got, err := ask(ctx, t, s, "a"); err == nil || what == "stall" && got != "begun" {
				t.Errorf("%s: %q, %v", what, got, err)
			}
			cancel()
			if !s.Left(10 * time.Second) {
				t.Errorf("%s: nobody has left", what)
			}
		}
	})
}
