package ollama_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/embeddingtest"
	"github.com/braidrun/braid/embedding/ollama"
	"github.com/braidrun/braid/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, address, name string) embedding.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	m, err := ollama.New(name, ollama.BaseURL(address+"/v1"), ollama.HTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestContract(t *testing.T) {
	t.Parallel()
	embeddingtest.Run(t, embeddingtest.Vendor{
		Start: embeddingtest.Ollama, Dimensions: 768, Other: 256,
		Open: func(t *testing.T, address string) embedding.Model {
			t.Helper()
			return open(t, address, "nomic-embed-text")
		},
	})
}

func TestAModelThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := embeddingtest.Ollama()
	t.Cleanup(s.Close)
	_, err := open(t, s.URL, "other").Embed(t.Context(), &embedding.Request{Texts: []string{"a"}})
	if e, ok := errors.AsType[*event.Error](err); !ok || e.Kind != event.ErrModelNotFound || !strings.Contains(e.Message, "try pulling it") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"", "a b", "-x"} {
		if _, err := ollama.New(name); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
