package models

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/embeddingtest"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/pricing"
)

func openEmbeddingIn(t *testing.T, ref string, vars ...string) (embedding.Model, error) {
	t.Helper()
	prices, err := pricing.Parse([]byte("prices:\n- {model: 'openai:text-embedding-3-small', embedding: true, input: 0.02}\n" +
		"- {model: 'gemini:gemini-embedding-2', embedding: true, input: 0.2}\n- {model: 'bedrock:cohere.embed-v4:0', embedding: true, input: 0.12}\n"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewOpener(Options{Env: env(vars...), Prices: pricing.Default().With(prices)})
	if err != nil {
		t.Fatal(err)
	}
	return o.OpenEmbedding(ref)
}

func TestModelsOfEmbeddings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		start      func() *embeddingtest.Stand
		ref        string // URL stands for the stand-in's address
		vars       []string
		want       string
		dimensions int
		nano       int64 // for three tokens; -1: not known
	}{
		"openai":           {embeddingtest.OpenAI, "openai", []string{"OPENAI_API_KEY", embeddingtest.Key, "OPENAI_BASE_URL", "URL/v1"}, "openai:text-embedding-3-small", 1536, 60},
		"openai, named":    {embeddingtest.OpenAI, "openai:text-embedding-3-large?base=URL/v1&key=MINE", []string{"MINE", embeddingtest.Key}, "openai:text-embedding-3-large", 3072, -1},
		"gemini":           {embeddingtest.Gemini, "gemini:", []string{"GOOGLE_API_KEY", embeddingtest.Key, "GOOGLE_GEMINI_BASE_URL", "URL"}, "gemini:gemini-embedding-2", 3072, 600},
		"ollama":           {embeddingtest.Ollama, "ollama:nomic-embed-text?base=URL", nil, "ollama:nomic-embed-text", 768, -1},
		"a vendor by name": {embeddingtest.OpenAI, "together:text-embedding-3-small?base=URL/v1&key=MINE", []string{"MINE", embeddingtest.Key}, "together:text-embedding-3-small", 1536, -1},
		"bedrock": {embeddingtest.Bedrock, "bedrock:cohere.embed-v4:0?region=us-east-1", []string{
			"AWS_ACCESS_KEY_ID", embeddingtest.KeyID, "AWS_SECRET_ACCESS_KEY", embeddingtest.Key, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "URL",
		}, "bedrock:cohere.embed-v4:0", 1536, 360},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.start()
			t.Cleanup(s.Close)
			vars := make([]string, len(tc.vars))
			for i := range tc.vars {
				vars[i] = strings.ReplaceAll(tc.vars[i], "URL", s.URL)
				if i%2 == 0 {
					vars[i] = tc.vars[i]
				}
			}
			m, err := openEmbeddingIn(t, strings.ReplaceAll(tc.ref, "URL", s.URL), append(vars, "AWS_CONFIG_FILE", "/dev/null", "AWS_SHARED_CREDENTIALS_FILE", "/dev/null")...) //nolint:makezero // they are copied
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"one two", "three"}})
			if err != nil {
				t.Fatal(err)
			}
			if m.Info().Name != tc.want || len(r.Vectors[0]) != tc.dimensions {
				t.Errorf("%s has %d dimensions", m.Info().Name, len(r.Vectors[0]))
			}
			if known := tc.nano >= 0; (r.CostNanoUSD != nil) != known || known && *r.CostNanoUSD != tc.nano {
				t.Errorf("it costs %v, want %d: %+v", r.CostNanoUSD, tc.nano, r.Usage)
			}
			s.Wrong(embeddingtest.NoUsage)
			if r, err = m.Embed(t.Context(), &embedding.Request{Texts: []string{"one"}}); err != nil || r.CostNanoUSD != nil {
				t.Errorf("without a usage it costs %+v, %v", r, err)
			}
		})
	}
}

func TestReferencesThatEmbedNothing(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]struct {
		kind event.ErrorKind
		text string
	}{
		"":                                     {event.ErrModelNotFound, "no such model"},
		"anthropic:claude-sonnet-5-5":          {event.ErrModelNotFound, "openai:text-embedding-3-small"},
		"demo:tour":                            {event.ErrModelNotFound, "no model of embeddings"},
		"text-embedding-3-large":               {event.ErrModelNotFound, "did you mean openai:text-embedding-3-large?"},
		"openai:text-embedding-3-small":        {event.ErrModelAuth, "set OPENAI_API_KEY"},
		"gemini:":                              {event.ErrModelAuth, "set GEMINI_API_KEY"},
		"mistral:mistral-embed":                {event.ErrModelAuth, "set MISTRAL_API_KEY"},
		"mistral:":                             {event.ErrModelNotFound, "no model of such a name"},
		"ollama:":                              {event.ErrModelNotFound, "nomic-embed-text"},
		"openai:x?effort=high":                 {event.ErrInvalid, "no setting of that name"},
		"openai:x?base=https://h/v1&key=NOT":   {event.ErrModelAuth, "NOT"},
		"bedrock:amazon.titan-embed-text-v2:0": {event.ErrInvalid, "region"},
		"bedrock:amazon.nova-pro-v1:0?region=us-east-1": {event.ErrUnsupported, "embeds no texts"},
	} {
		m, err := openEmbeddingIn(t, ref, "AWS_CONFIG_FILE", "/dev/null", "AWS_SHARED_CREDENTIALS_FILE", "/dev/null", "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "s")
		e, ok := errors.AsType[*event.Error](err)
		if m != nil || !ok || e.Kind != want.kind || !strings.Contains(e.Message+" "+e.Hint, want.text) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// A key goes to the address that it is for, and nowhere else.
func TestTheVendorsKeyStaysWithTheVendor(t *testing.T) {
	t.Parallel()
	s := embeddingtest.OpenAI()
	t.Cleanup(s.Close)
	m, err := openEmbeddingIn(t, "openai:text-embedding-3-small?base="+s.URL+"/v1", "OPENAI_API_KEY", embeddingtest.Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"a"}}); !errors.Is(err, event.ErrModelAuth) {
		t.Errorf("the key went elsewhere: %v", err)
	}
}
