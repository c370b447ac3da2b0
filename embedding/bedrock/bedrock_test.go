package bedrock_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/auth/bearer"
	"go.uber.org/goleak"

	"github.com/braidrun/braid/embedding"
	"github.com/braidrun/braid/embedding/bedrock"
	"github.com/braidrun/braid/embedding/embeddingtest"
	"github.com/braidrun/braid/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(secret string) aws.Config {
	return aws.Config{
		Region: embeddingtest.Region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: embeddingtest.KeyID, SecretAccessKey: secret}, nil
		}),
	}
}

func open(id string, cfg aws.Config) func(*testing.T, string) embedding.Model {
	return func(t *testing.T, address string) embedding.Model {
		t.Helper()
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		m, err := bedrock.New(id, cfg, bedrock.BaseURL(address), bedrock.HTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	alone := []embeddingtest.Fault{embeddingtest.More, embeddingtest.Ragged}
	for id, v := range map[string]embeddingtest.Vendor{
		"amazon.titan-embed-text-v2:0": {Dimensions: 1024, Other: 256, Unsized: 300, Cannot: alone[:1]},
		"amazon.titan-embed-text-v1":   {Dimensions: 1536, Unsized: 256, Cannot: alone[:1]},
		"cohere.embed-english-v3":      {Dimensions: 1024, Unsized: 512},
		"cohere.embed-v4:0":            {Dimensions: 1536, Other: 512, Unsized: 300},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			v.Start, v.Open = embeddingtest.Bedrock, open(id, config(embeddingtest.Key))
			embeddingtest.Run(t, v)
		})
	}
}

func TestWhoAsks(t *testing.T) {
	t.Parallel()
	token := config(embeddingtest.Key)
	token.Credentials = nil
	token.BearerAuthTokenProvider = bearer.StaticTokenProvider{Token: bearer.Token{Value: embeddingtest.Key}}
	none := config("")
	none.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("no metadata service answers")
	})
	elsewhere := config(embeddingtest.Key)
	elsewhere.Region = "eu-west-1"
	for name, tc := range map[string]struct {
		cfg  aws.Config
		want error
		sent int
	}{
		"a signature":            {config(embeddingtest.Key), nil, 1},
		"a key of Bedrock's":     {token, nil, 1},
		"a wrong secret":         {config("wrong"), event.ErrModelAuth, 1},
		"another region":         {elsewhere, event.ErrModelAuth, 1},
		"no credentials at last": {none, event.ErrModelAuth, 0},
	} {
		s := embeddingtest.Bedrock()
		t.Cleanup(s.Close)
		_, err := open(bedrock.Default, tc.cfg)(t, s.URL).Embed(t.Context(), &embedding.Request{Texts: []string{"a"}})
		if tc.want == nil && err != nil || tc.want != nil && !errors.Is(err, tc.want) || len(s.Bodies()) != tc.sent {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), embeddingtest.Key) {
			t.Errorf("%s: the key is shown: %v", name, err)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	noRegion, nobody := config("k"), aws.Config{Region: "us-east-1"}
	noRegion.Region = ""
	for name, tc := range map[string]struct {
		id   string
		cfg  aws.Config
		want error
	}{
		"no region":      {bedrock.Default, noRegion, event.ErrInvalid},
		"nobody":         {bedrock.Default, nobody, event.ErrModelAuth},
		"another model":  {"amazon.nova-pro-v1:0", config("k"), event.ErrUnsupported},
		"no id":          {"a b", config("k"), event.ErrInvalid},
		"an unknown ARN": {"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/x", config("k"), event.ErrUnsupported},
	} {
		if _, err := bedrock.New(tc.id, tc.cfg); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := bedrock.New("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/x", config("k"), bedrock.As("cohere.embed-v4:0"))
	if err != nil || m.Info().Dimensions != 1536 {
		t.Errorf("%v", err)
	}
}

// A signature that is refused because the clocks are apart is made again once, and from then on by
// the service's clock. A wrong secret is refused at once.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ahead  time.Duration
		secret string
		fixed  bool
		fails  bool
	}{
		"slow by an hour":   {ahead: time.Hour, secret: embeddingtest.Key},
		"fast by a day":     {ahead: -24 * time.Hour, secret: embeddingtest.Key},
		"correction is off": {ahead: time.Hour, secret: embeddingtest.Key, fixed: true, fails: true},
		"a wrong secret":    {secret: "another", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stand := embeddingtest.Bedrock()
			t.Cleanup(stand.Close)
			stand.Ahead(c.ahead)
			cfg := config(c.secret)
			cfg.DisableClockSkewCorrection = c.fixed
			m := open("amazon.titan-embed-text-v2:0", cfg)(t, stand.URL)
			for range 2 {
				_, err := m.Embed(t.Context(), &embedding.Request{Texts: []string{"Hello."}})
				e, _ := errors.AsType[*event.Error](err)
				if c.fails && (e == nil || e.Kind != event.ErrModelAuth) || !c.fails && err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
