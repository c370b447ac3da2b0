package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/embeddingtest"
	"github.com/braidrun/braid/embedding/openai"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client leaves no connection behind.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func open(name string) func(*testing.T, string) embedding.Model {
	return func(t *testing.T, address string) embedding.Model {
		t.Helper()
		m, err := openai.New(name, secret.New(embeddingtest.Key), openai.BaseURL(address+"/v1"), openai.HTTPClient(client(t)))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	embeddingtest.Run(t, embeddingtest.Vendor{
		Start: embeddingtest.OpenAI, Open: open("text-embedding-3-small"), Dimensions: 1536, Other: 256, Unsized: 3072, Indexes: true,
	})
}

func TestContractOfAModelWithoutDimensions(t *testing.T) {
	t.Parallel()
	embeddingtest.Run(t, embeddingtest.Vendor{
		Start: embeddingtest.OpenAI, Open: open("text-embedding-ada-002"), Dimensions: 1536, Unsized: 256, Indexes: true,
	})
}

// A server of somebody else may need no key, leave the index out and give words of its own.
func TestServersThatSpeakTheSame(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"plain":     `{"data": [{"embedding": [3, 4]}, {"embedding": [0, 2]}]}`,
		"one index": `{"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}`,
	}
	for name, answer := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				t.Error("there is a key")
			}
			_, _ = w.Write([]byte(answer))
		}))
		t.Cleanup(server.Close)
		m, err := openai.New("BAAI/bge-m3", secret.Secret{}, openai.BaseURL(server.URL+"/v1/"), openai.Named("vllm", "vLLM"), openai.HTTPClient(client(t)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"a", "b"}})
		if err != nil || r.Vectors[0][0] != 0.6 || r.Vectors[1][1] != 1 || !r.UsageUnknown || m.Info().Name != "vllm:BAAI/bge-m3" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		status int
		kind   event.ErrorKind
		words  string
	}{
		`{"error": {"message": "Incorrect API key provided: sk-proj-0123456789abcdef0123.", "code": "invalid_api_key"}}`: {401, event.ErrModelAuth, "Incorrect API key"},
		`{"error": "bare words"}`: {400, event.ErrInvalid, "bare words"},
		`{"object": "error", "message": "maximum context length is 512 tokens"}`: {400, event.ErrContextOverflow, "512"},
		`{"detail": "Not Found"}`:                        {404, event.ErrModelNotFound, "Not Found"},
		`<html>Bad gateway</html>`:                       {502, event.ErrUnavailable, "failed"},
		`[1, 2]`:                                         {403, event.ErrModelAuth, "does not let"},
		`{"error": {"message": 5, "code": {}}}`:          {413, event.ErrTooLarge, "too large"},
		`{"error": {"message": "over\u001b[31mloaded"}}`: {503, event.ErrOverloaded, "over"},
		strings.Repeat("x", 1<<20):                       {400, event.ErrInvalid, "refused"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(want.status)
			_, _ = w.Write([]byte(text))
		}))
		t.Cleanup(server.Close)
		m := open("text-embedding-3-small")(t, server.URL)
		_, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"a"}})
		e, ok := errors.AsType[*event.Error](err)
		if !ok || e.Kind != want.kind || !strings.Contains(e.Message, want.words) || strings.Contains(e.Message, "sk-proj") || strings.ContainsRune(e.Message, '\x1b') {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]openai.Option{
		"":         nil,
		"a b":      nil,
		"x\x1b":    nil,
		"m":        {openai.BaseURL("ftp://host")},
		"n":        {openai.BaseURL("https://user:pass@host/v1")},
		"o":        {openai.HTTPClient(nil)},
		"../admin": nil,
	} {
		if m, err := openai.New(name, secret.New("k"), opts...); m != nil || !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Long requests are split by their texts' bytes as well.
func TestCallsStaySmall(t *testing.T) {
	t.Parallel()
	s := embeddingtest.OpenAI()
	t.Cleanup(s.Close)
	m := open("text-embedding-3-small")(t, s.URL)
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = strings.Repeat("abcdefghij", 10_000)
	}
	if _, err := m.Embed(t.Context(), &embedding.Request{Texts: texts}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Bodies()); n != 4 {
		t.Errorf("%d calls", n)
	}
	for _, b := range s.Bodies() {
		if len(b) > 300_000 || !json.Valid(b) {
			t.Errorf("a call of %d bytes", len(b))
		}
	}
}
