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
	"github.com/braidrun/braid/model/internal/awserr"
	"github.com/braidrun/braid/model/internal/provider"
)

// The default model on Bedrock, and environment variables. This package reads neither
// variable.
const (
	// BedrockDefault is the model for users who have an AWS account and name no model.
	BedrockDefault = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	// BedrockKeyVariable holds a Bedrock API key, and BedrockBaseVariable the address of a
	// gateway.
	BedrockKeyVariable  = "AWS_BEARER_TOKEN_BEDROCK"
	BedrockBaseVariable = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
)

// bedrockVersion is the only version of the API that InvokeModel takes, in the body (the
// vendor's page claude-on-amazon-bedrock-legacy).
const bedrockVersion = "bedrock-2023-05-31"

var regions = lazyre.New(`^[a-z]{2,4}(-[a-z]{2,10}){1,3}-[0-9]{1,2}$`)

// NewBedrock returns a Claude model on Amazon Bedrock, called by InvokeModel with a
// stream. The name is the id of a model or of an inference profile, or a profile's ARN,
// such as "us.anthropic.claude-sonnet-4-5-20250929-v1:0".
//
// NewBedrock uses these fields of cfg:
//
//   - Region, which is required.
//   - BaseEndpoint, unless [BaseURL] is given.
//   - BearerAuthTokenProvider, a Bedrock API key, if AuthSchemePreference begins with
//     "httpBearerAuth" or Credentials is nil.
//   - Credentials otherwise. They sign each request (SigV4).
//
// It reads nothing from the environment and makes no connection. Bedrock has no
// automatic cache point, so [CacheAuto] is the same as [CacheExplicit]. It has one
// version of the API, so [Version] is an error.
//
// The error is an [*event.Error]: ErrInvalid for an invalid name, region or option,
// ErrModelAuth for missing credentials.
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

// again reports whether a request was refused only for the time of its signature. used is
// the offset of that signature. The next signature uses the service's time.
func (c *cloud) again(r *provider.Refused, used time.Duration, begun time.Time) bool {
	if c.cfg.Credentials == nil || c.fixed {
		return false
	}
	ended := time.Now()
	return c.clock.Correct(used, awserr.Before(r.Status, r.Header, r.Body, ended).Kind, r.Header, begun, ended)
}

// framesType is the content type of a binary event stream.
const framesType = "application/vnd.amazon.eventstream"

// address returns the URL of an operation on a model. It escapes the slashes of an ARN.
func (c *cloud) address(base, model, operation string) string {
	if base == "" {
		base = "https://bedrock-runtime." + c.cfg.Region + ".amazonaws.com"
	}
	return base + "/model/" + url.PathEscape(model) + "/" + operation
}

// authorize adds the configured credentials. It signs with this machine's time plus ahead.
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
	// A signer caches its keys by the access key's id alone. A signer that lived longer would
	// keep using a secret that was replaced.
	return v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(hash[:]), "bedrock", c.cfg.Region, time.Now().Add(ahead))
}

// signer returns credentials, or an *event.Error if there are none.
type signer struct{ aws.CredentialsProvider }

// Retrieve implements [aws.CredentialsProvider].
func (s signer) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := s.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, noCredentials(ctx, err, "look at AWS_ACCESS_KEY_ID, AWS_PROFILE and the role; where you sign in by SSO, sign in again")
	}
	return c, nil
}

// keeper returns API keys, or an *event.Error if there is none.
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
