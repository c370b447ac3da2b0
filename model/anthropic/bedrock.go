package anthropic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/model/internal/awserr"
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

// bedrockVersion is the only version of the API that InvokeModel takes, in the body (the
// vendor's page claude-on-amazon-bedrock-legacy).
const bedrockVersion = "bedrock-2023-05-31"

var regions = lazyre.New(`^[a-z]{2,4}(-[a-z]{2,10}){1,3}-[0-9]{1,2}$`)

// NewBedrock makes a model of Claude on Amazon Bedrock: InvokeModel with a stream. The name is a model's id there, or an inference
// profile's, or the ARN of one, such as
// "us.anthropic.claude-sonnet-4-5-20250929-v1:0".
//
// Of cfg are used: Region, which must be set; BaseEndpoint, unless [BaseURL] is
// given; and who asks. That is BearerAuthTokenProvider, a Bedrock API key, where
// AuthSchemePreference begins with "httpBearerAuth" or there are no Credentials;
// otherwise Credentials, which sign each request (SigV4). It reads nothing from
// the environment and makes no connection. There is
// no automatic cache point and no version to choose: [CacheAuto] is the same as
// [CacheExplicit], and [Version] is an error. The error is an [*event.Error]:
// ErrInvalid for a name, a region or an option that cannot be, ErrModelAuth where
// nobody asks.
func NewBedrock(name string, cfg aws.Config, opts ...Option) (*Model, error) {
	if !names.MatchString(name) {
		return nil, wrong("Amazon Bedrock has no model of such a name", "name one as AWS does, such as "+BedrockDefault)
	}
	if !regions.MatchString(cfg.Region) {
		return nil, wrong("there is no AWS region for Amazon Bedrock", "set AWS_REGION, or give the region, such as us-east-1")
	}
	c := &cloud{cfg: cfg, fixed: cfg.DisableClockSkewCorrection}
	switch prefersKey := len(cfg.AuthSchemePreference) > 0 && cfg.AuthSchemePreference[0] == "httpBearerAuth"; {
	case cfg.BearerAuthTokenProvider != nil && (prefersKey || cfg.Credentials == nil):
		c.cfg.BearerAuthTokenProvider, c.cfg.Credentials = keeper{cfg.BearerAuthTokenProvider}, nil
	case cfg.Credentials != nil:
		c.cfg.Credentials, c.cfg.BearerAuthTokenProvider = signer{cfg.Credentials}, nil
	default:
		return nil, &event.Error{
			Op: op, Kind: event.ErrModelAuth, Message: "there are no credentials for Amazon Bedrock",
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
		return nil, wrong("Amazon Bedrock has one version of Anthropic's API", "leave the version out")
	}
	if m.cache == CacheAuto {
		m.cache = CacheExplicit
	}
	return m, nil
}

// cloud is who asks Bedrock, and where.
type cloud struct {
	cfg aws.Config
	// clock is that of the service's refusals, unless fixed leaves it as it is.
	clock sigv4.Clock
	fixed bool
}

// again reports whether a request was refused for the time of its signature alone, which was
// ahead by used. The next signature has the service's time.
func (c *cloud) again(r *provider.Refused, used time.Duration, begun time.Time) bool {
	if c.cfg.Credentials == nil || c.fixed {
		return false
	}
	ended := time.Now()
	return c.clock.Correct(used, awserr.Before(r.Status, r.Header, r.Body, ended).Kind, r.Header, begun, ended)
}

// framesType is the content type of a binary event stream.
const framesType = "application/vnd.amazon.eventstream"

// address is where an operation on a model is asked for. An ARN has slashes, which are
// escaped.
func (c *cloud) address(base, model, operation string) string {
	if base == "" {
		base = "https://bedrock-runtime." + c.cfg.Region + ".amazonaws.com"
	}
	return base + "/model/" + url.PathEscape(model) + "/" + operation
}

// authorize adds the credentials that were given, and no others. A signature is of a time that
// is ahead of this machine's.
func (c *cloud) authorize(ctx context.Context, r *http.Request, body []byte, ahead time.Duration) error {
	if c.cfg.BearerAuthTokenProvider != nil {
		token, err := c.cfg.BearerAuthTokenProvider.RetrieveBearerToken(ctx)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token.Value)
		return nil
	}
	credentials, err := c.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(body)
	// A signer keeps keys by the id of the access key alone: one that lives longer would go on
	// with a secret that has been replaced.
	return v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash[:]), "bedrock", c.cfg.Region, time.Now().Add(ahead))
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
		Op: op, Kind: event.ErrModelAuth, Message: "AWS gives no credentials for Amazon Bedrock", Hint: hint, Err: err,
	}
}
