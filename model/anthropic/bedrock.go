package anthropic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/bedrock"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/internal/provider"
)

// What others need to know of Claude on Bedrock.
const (
	// BedrockDefault is the model that is used where somebody has an AWS account and
	// names none.
	BedrockDefault = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	// BedrockKeyVariable is the environment variable with an API key of Bedrock,
	// BedrockBaseVariable the one with another address. Nothing here reads them.
	BedrockKeyVariable  = "AWS_BEARER_TOKEN_BEDROCK"
	BedrockBaseVariable = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
)

// bedrockVersion is the version of the API that InvokeModel takes, in the body. The
// SDK would send its own, which the models there refuse (the vendor's page
// claude-on-amazon-bedrock-legacy).
const bedrockVersion = "bedrock-2023-05-31"

var regions = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]{2,10}){1,3}-[0-9]{1,2}$`)

// NewBedrock makes a model of Claude on Amazon Bedrock: InvokeModel with a stream,
// through the vendor's SDK. The name is a model's id there, or an inference
// profile's, or the ARN of one, such as
// "us.anthropic.claude-sonnet-4-5-20250929-v1:0".
//
// Of cfg are used: Region, which must be set; BaseEndpoint, unless [BaseURL] is
// given; and who asks. That is BearerAuthTokenProvider, a Bedrock API key, where
// AuthSchemePreference begins with "httpBearerAuth" or there are no Credentials;
// otherwise Credentials, which sign each request (SigV4). It reads nothing from
// the environment, not even what the SDK would, and makes no connection. There is
// no automatic cache point and no version to choose: [CacheAuto] is the same as
// [CacheExplicit], and [Version] is an error. The error is an [*event.Error]:
// ErrInvalid for a name, a region or an option that cannot be, ErrModelAuth where
// nobody asks.
func NewBedrock(name string, cfg aws.Config, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, wrong("Amazon Bedrock has no model of such a name.", "name one as AWS does, such as "+BedrockDefault)
	}
	if !regions.MatchString(cfg.Region) {
		return nil, wrong("There is no AWS region for Amazon Bedrock.", "set AWS_REGION, or give the region, such as us-east-1")
	}
	c := &cloud{cfg: cfg}
	switch prefersKey := len(cfg.AuthSchemePreference) > 0 && cfg.AuthSchemePreference[0] == "httpBearerAuth"; {
	case cfg.BearerAuthTokenProvider != nil && (prefersKey || cfg.Credentials == nil):
		c.cfg.BearerAuthTokenProvider, c.cfg.Credentials = keeper{cfg.BearerAuthTokenProvider}, nil
	case cfg.Credentials != nil:
		c.cfg.Credentials, c.cfg.BearerAuthTokenProvider = signer{cfg.Credentials}, nil
	default:
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "There are no credentials for Amazon Bedrock.",
			Hint: "set " + BedrockKeyVariable + ", or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with the AWS CLI",
		}
	}
	m := &Model{name: name, aws: c, stall: DefaultStall, cache: CacheExplicit, client: provider.Client()}
	if cfg.BaseEndpoint != nil {
		m.base = *cfg.BaseEndpoint
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if m.version != "" {
		return nil, wrong("Amazon Bedrock has one version of Anthropic's API.", "leave the version out")
	}
	if m.cache == CacheAuto {
		m.cache = CacheExplicit
	}
	if u, err := url.Parse(m.base); err == nil && u.Path != "" { // BaseURL has checked the address
		c.path = strings.TrimRight(u.EscapedPath(), "/")
		m.base = u.Scheme + "://" + u.Host
	}
	m.sdk = sdk.NewClient(m.options()...)
	return m, nil
}

// cloud is who asks Bedrock, and where.
type cloud struct {
	cfg aws.Config
	// path begins the path of each request, escaped: that of a gateway. The SDK takes no base URL that has one.
	path string
}

func (c *cloud) options() []option.RequestOption {
	return []option.RequestOption{
		option.WithHeader("Accept", framesType),
		bedrock.WithConfig(c.cfg),
		// Closer to the wire than the SDK's own.
		option.WithMiddleware(c.send),
	}
}

const (
	// framesType is the content type of a binary event stream. framesRead is what
	// it is called on its way through the SDK, which would make other events of it.
	framesType = "application/vnd.amazon.eventstream"
	framesRead = "application/x-braid-frames"
)

// send sends a request with the credentials that were given. The SDK takes the key
// of the environment where it finds one, whoever asks: then they are put in its
// place.
func (c *cloud) send(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	ctx := r.Context()
	if c.path != "" {
		r.URL.RawPath = c.path + r.URL.EscapedPath()
		path, err := url.PathUnescape(r.URL.RawPath)
		if err != nil {
			return nil, err
		}
		r.URL.Path = path
	}
	switch given := r.Header.Get("Authorization"); {
	case c.cfg.BearerAuthTokenProvider != nil:
		token, err := c.cfg.BearerAuthTokenProvider.RetrieveBearerToken(ctx)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token.Value)
	case c.path != "" || !strings.HasPrefix(given, "AWS4-"): // the SDK has signed another path
		r.Header.Del("Authorization")
		if err := c.sign(ctx, r); err != nil {
			return nil, err
		}
	}
	res, err := next(r)
	if err == nil && res.StatusCode == http.StatusOK && strings.HasPrefix(res.Header.Get("Content-Type"), framesType) {
		res.Header.Set("Content-Type", framesRead)
	}
	return res, err
}

func (c *cloud) sign(ctx context.Context, r *http.Request) error {
	credentials, err := c.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	hash := sha256.New()
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return err
		}
		if _, err := io.Copy(hash, body); err != nil {
			return err
		}
		if r.Body, err = r.GetBody(); err != nil {
			return err
		}
	}
	return v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash.Sum(nil)), "bedrock", c.cfg.Region, time.Now())
}

// signer gives credentials, and errors of ours where there are none.
type signer struct{ aws.CredentialsProvider }

// Retrieve implements [aws.CredentialsProvider].
func (s signer) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := s.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, noCredentials(ctx, err, "look at AWS_ACCESS_KEY_ID, AWS_PROFILE and the role; where you sign in by SSO, sign in again")
	}
	return c, nil
}

// keeper gives API keys likewise.
type keeper struct{ bearer.TokenProvider }

// RetrieveBearerToken implements [bearer.TokenProvider].
func (k keeper) RetrieveBearerToken(ctx context.Context) (bearer.Token, error) {
	t, err := k.TokenProvider.RetrieveBearerToken(ctx)
	if err != nil {
		return t, noCredentials(ctx, err, "look at "+BedrockKeyVariable)
	}
	return t, nil
}

func noCredentials(ctx context.Context, err error, hint string) error {
	if ctx.Err() != nil {
		return err
	}
	return &event.Error{
		Op: op, Kind: event.ErrModelAuth, Message: "AWS gives no credentials for Amazon Bedrock.", Hint: hint, Err: err,
	}
}
