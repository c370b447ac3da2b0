package gemini_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/embeddingtest"
	"github.com/braidrun/braid/embedding/gemini"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(name string) func(*testing.T, string) embedding.Model {
	return func(t *testing.T, address string) embedding.Model {
		t.Helper()
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		m, err := gemini.New(name, secret.New(embeddingtest.Key), gemini.BaseURL(address), gemini.HTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gemini-embedding-001", "gemini-embedding-2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			embeddingtest.Run(t, embeddingtest.Vendor{Start: embeddingtest.Gemini, Open: open(name), Dimensions: 3072, Other: 768, Unsized: 4096})
		})
	}
}

// One generation is told the task beside the text, the next in front of it.
func TestTasks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		task embedding.Task
		want string
	}{
		{"gemini-embedding-001", embedding.Query, `"text":"moon"}]},"taskType":"RETRIEVAL_QUERY"`},
		{"gemini-embedding-001", embedding.Document, `"taskType":"RETRIEVAL_DOCUMENT"`},
		{"gemini-embedding-001", "", `"content":{"parts":[{"text":"moon"}]}}]}`},
		{"gemini-embedding-2", embedding.Query, `"text":"task: search result | query: moon"`},
		{"gemini-embedding-2", embedding.Document, `"text":"title: none | text: moon"`},
		{"gemini-embedding-2", "", `"text":"moon"}]}}]}`},
	} {
		s := embeddingtest.Gemini()
		t.Cleanup(s.Close)
		if _, err := open(tc.name)(t, s.URL).Embed(t.Context(), &embedding.Request{Texts: []string{"moon"}, Task: tc.task}); err != nil {
			t.Fatal(err)
		}
		if body := string(s.Bodies()[0]); !strings.Contains(body, tc.want) {
			t.Errorf("%s, %q: %s", tc.name, tc.task, body)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	if _, err := gemini.New("gemini-embedding-2", secret.Secret{}); !errors.Is(err, event.ErrModelAuth) {
		t.Errorf("without a key: %v", err)
	}
	for _, name := range []string{"", "a/b", "a:embedContent", "A"} {
		if _, err := gemini.New(name, secret.New("k")); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := gemini.New("x", secret.New("k"), gemini.BaseURL("host")); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
