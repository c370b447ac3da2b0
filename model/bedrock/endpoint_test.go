package bedrock_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

// seen is a transport that keeps the last request.
type seen struct{ last *http.Request }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.last = r
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(bedrocktest.Text("Hello.").Body)), ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// source is a source of AWS's configuration, like those of package config.
type source struct {
	fips   aws.FIPSEndpointState
	dual   aws.DualStackEndpointState
	own    string
	ignore bool
}

func (s source) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	return s.fips, s.fips != aws.FIPSEndpointStateUnset, nil
}

func (s source) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	return s.dual, s.dual != aws.DualStackEndpointStateUnset, nil
}

func (s source) GetServiceBaseEndpoint(_ context.Context, id string) (string, bool, error) {
	return s.own, s.own != "" && id == "Bedrock Runtime", nil
}

func (s source) GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error) {
	return s.ignore, s.ignore, nil
}

func TestWhereTheAPIIsAsked(t *testing.T) {
	t.Parallel()
	in := func(region string, sources ...any) aws.Config {
		cfg := bedrocktest.Config()
		cfg.Region, cfg.ConfigSources = region, sources
		return cfg
	}
	based := in("us-east-1")
	based.BaseEndpoint = aws.String("https://vpce-1.example.com/gateway/")
	both := in("us-east-1", source{own: "https://own.example.com"})
	both.BaseEndpoint = based.BaseEndpoint
	ignored := in("us-east-1", source{own: "https://own.example.com", ignore: true})
	older := in("us-east-1")
	older.EndpointResolverWithOptions = aws.EndpointResolverWithOptionsFunc( //nolint:staticcheck // programs still set it
		func(service, _ string, _ ...any) (aws.Endpoint, error) { //nolint:staticcheck // as above
			if service != "Bedrock Runtime" {
				return aws.Endpoint{}, &aws.EndpointNotFoundError{} //nolint:staticcheck // as above
			}
			return aws.Endpoint{URL: "https://older.example.com", SigningRegion: "eu-west-1"}, nil //nolint:staticcheck // as above
		})
	none := in("us-east-1")
	none.EndpointResolver = aws.EndpointResolverFunc( //nolint:staticcheck // as above
		func(string, string) (aws.Endpoint, error) { return aws.Endpoint{}, &aws.EndpointNotFoundError{} }) //nolint:staticcheck // as above
	fips, dual := source{fips: aws.FIPSEndpointStateEnabled}, source{dual: aws.DualStackEndpointStateEnabled}
	for _, c := range []struct {
		cfg  aws.Config
		id   string
		opts []bedrock.Option
		want string // the address and the signed region
	}{
		{in("us-east-1"), pro, nil, "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{in("eu-central-2"), scout, []bedrock.Option{bedrock.Answers(bedrock.Whole)}, "https://bedrock-runtime.eu-central-2.amazonaws.com/model/us.meta.llama4-scout-17b-instruct-v1%3A0/converse eu-central-2"},
		{in("us-gov-west-1"), pro, nil, "https://bedrock-runtime.us-gov-west-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream us-gov-west-1"},
		{in("cn-north-1"), pro, nil, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/amazon.nova-pro-v1%3A0/converse-stream cn-north-1"},
		{in("us-isob-east-1"), pro, nil, "https://bedrock-runtime.us-isob-east-1.sc2s.sgov.gov/model/amazon.nova-pro-v1%3A0/converse-stream us-isob-east-1"},
		{in("fips-us-gov-west-1"), pro, nil, "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream us-gov-west-1"},
		{in("us-east-1", 7, fips), pro, nil, "https://bedrock-runtime-fips.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{in("us-east-1", source{fips: aws.FIPSEndpointStateDisabled}, fips), pro, nil, "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{in("cn-north-1", dual), pro, nil, "https://bedrock-runtime.cn-north-1.api.amazonwebservices.com.cn/model/amazon.nova-pro-v1%3A0/converse-stream cn-north-1"},
		{in("us-east-1", fips, dual), pro, nil, "https://bedrock-runtime-fips.us-east-1.api.aws/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{
			in("ap-south-1"), "arn:aws:bedrock:ap-south-1:123456789012:inference-profile/apac.amazon.nova-pro-v1:0", nil,
			"https://bedrock-runtime.ap-south-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aap-south-1%3A123456789012%3Ainference-profile%2Fapac.amazon.nova-pro-v1%3A0/converse-stream ap-south-1",
		},
		{based, pro, nil, "https://vpce-1.example.com/gateway/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{based, pro, []bedrock.Option{bedrock.BaseURL("http://127.0.0.1:9/a%2Fb")}, "http://127.0.0.1:9/a%2Fb/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{both, pro, nil, "https://own.example.com/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{ignored, pro, nil, "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
		{older, pro, nil, "https://older.example.com/model/amazon.nova-pro-v1%3A0/converse-stream eu-west-1"},
		{none, pro, nil, "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1%3A0/converse-stream us-east-1"},
	} {
		wire := &seen{}
		m, err := bedrock.New(c.id, c.cfg, append(c.opts, bedrock.HTTPClient(&http.Client{Transport: wire}))...)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		_ = modeltest.Call(t.Context(), m, hello()) // only the request matters
		_, scope, _ := strings.Cut(wire.last.Header.Get("Authorization"), "/")
		_, scope, _ = strings.Cut(scope, "/") // the date
		region, _, _ := strings.Cut(scope, "/")
		if got := wire.last.URL.String() + " " + region; got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

func TestEndpointsThatCannotBe(t *testing.T) {
	t.Parallel()
	with := func(change func(*aws.Config)) aws.Config {
		cfg := bedrocktest.Config()
		change(&cfg)
		return cfg
	}
	for name, cfg := range map[string]aws.Config{
		"a region that is a host":   with(func(c *aws.Config) { c.Region = "x.evil.example/" }),
		"a region with a user":      with(func(c *aws.Config) { c.Region = "a@b" }),
		"an endpoint without a way": with(func(c *aws.Config) { c.BaseEndpoint = aws.String("vpce.example.com") }),
		"an endpoint with a user":   with(func(c *aws.Config) { c.BaseEndpoint = aws.String("https://u:p@vpce.example.com") }),
		"FIPS and an endpoint": with(func(c *aws.Config) {
			c.BaseEndpoint, c.ConfigSources = aws.String("https://vpce.example.com"), []any{source{fips: aws.FIPSEndpointStateEnabled}}
		}),
		"a resolver that fails": with(func(c *aws.Config) {
			c.EndpointResolver = aws.EndpointResolverFunc(func(string, string) (aws.Endpoint, error) { //nolint:staticcheck // programs still set it
				return aws.Endpoint{}, errors.New("no") //nolint:staticcheck // as above
			})
		}),
		"a key without TLS": with(func(c *aws.Config) {
			*c = bedrocktest.KeyConfig()
			c.BaseEndpoint = aws.String("http://vpce.example.com")
		}),
	} {
		m, err := bedrock.New(pro, cfg)
		if event.KindOf(err) != event.ErrInvalid || m != nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The configuration says whether a key or a signature counts.
func TestWhoAsks(t *testing.T) {
	t.Parallel()
	session := both() // package config returns this for an SSO session
	session.BearerAuthTokenProvider = bearer.NewTokenCache(session.BearerAuthTokenProvider)
	none := both()
	none.Credentials = (*aws.AnonymousCredentials)(nil)
	for _, c := range []struct {
		cfg        aws.Config
		preference []string
		want       string
	}{
		{both(), nil, "Bearer"},
		{both(), []string{"httpBearerAuth", "sigv4"}, "Bearer"},
		{both(), []string{"sigv4a", "sigv4", "httpBearerAuth"}, "AWS4-HMAC-SHA256"},
		{both(), []string{"aws.auth#sigv4"}, "AWS4-HMAC-SHA256"},
		{none, []string{"sigv4"}, "Bearer"},
		{session, nil, "AWS4-HMAC-SHA256"},
		{session, []string{"httpBearerAuth"}, "Bearer"},
	} {
		wire := &seen{}
		c.cfg.AuthSchemePreference = c.preference
		m, err := bedrock.New(pro, c.cfg, bedrock.HTTPClient(&http.Client{Transport: wire}))
		if err != nil {
			t.Fatal(err)
		}
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
			t.Fatal(r.Err)
		}
		if got, _, _ := strings.Cut(wire.last.Header.Get("Authorization"), " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.preference, got, c.want)
		}
	}
	broken := bedrocktest.KeyConfig()
	broken.BearerAuthTokenProvider = bearer.TokenProviderFunc(func(context.Context) (bearer.Token, error) {
		return bearer.Token{}, errors.New("the session of bob has expired")
	})
	m, err := bedrock.New(pro, broken)
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModelAuth || strings.Contains(e.Error(), "bob") {
		t.Error(e)
	}
}

// AWS's own client follows some redirects with the request. A loaded configuration has that client.
func TestTheConfigurationsClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	other := bedrocktest.Start(bedrocktest.Text("Hello."))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := bedrocktest.Start(bedrocktest.Answer{Status: status, Header: map[string]string{"Location": other.URL + "/model/" + pro + "/converse-stream"}})
		t.Cleanup(server.Close)
		cfg, err := config.LoadDefaultConfig(t.Context(), config.WithSharedConfigFiles(nil), config.WithSharedCredentialsFiles(nil),
			config.WithRegion(bedrocktest.Region), config.WithDefaultsMode(aws.DefaultsModeStandard))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Credentials, cfg.BearerAuthTokenProvider = bedrocktest.Config().Credentials, nil
		m, err := bedrock.New(pro, cfg, bedrock.BaseURL(server.URL))
		if err != nil {
			t.Fatal(err)
		}
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModel || len(other.Asked()) != 0 || len(server.Asked()) != 1 {
			t.Errorf("%d: %v; %d requests elsewhere", status, e, len(other.Asked()))
		}
	}
}
