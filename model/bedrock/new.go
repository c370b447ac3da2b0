package bedrock

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
)

// New returns the model with this AWS id, such as "amazon.nova-pro-v1:0",
// "us.meta.llama4-scout-17b-instruct-v1:0" or the ARN of an inference profile. It makes no
// connection.
//
// New uses these fields of cfg:
//
//   - Region, which is required.
//   - BearerAuthTokenProvider, a Bedrock API key, unless AuthSchemePreference begins with
//     "sigv4". A *bearer.TokenCache beside Credentials is an SSO session's token and not a key.
//   - Credentials otherwise.
//   - HTTPClient and DisableClockSkewCorrection.
//   - BaseEndpoint, and the endpoint, FIPS and dual-stack settings of AWS's configuration sources.
//
// It reads nothing else from the environment and runs no SDK middleware (APIOptions).
//
// The error is an [*event.Error]: ErrInvalid for an invalid id, region, address or option,
// ErrUnsupported for an option that the model lacks, ErrModelAuth for missing credentials.
func New(name string, cfg aws.Config, opts ...Option) (*Model, error) {
	if len(name) > longest || !names.MatchString(name) {
		return nil, wrong("Amazon Bedrock has no model of such an id", "name one as AWS does, such as "+Default)
	}
	m := &Model{
		setup: setup{name: name, plain: plainModel(name), family: familyOf(name), cache: CacheAuto, streaming: StreamAuto},
		stall: DefaultStall,
	}
	for _, o := range opts {
		if err := o(m); err != nil {
			return nil, err
		}
	}
	if cfg.Region == "" {
		return nil, wrong("no region is set for Amazon Bedrock", "set "+RegionVariable+", or name a region")
	}
	if m.cache == CacheHour && m.family.cache != noCache && !m.family.hourCache {
		return nil, notSent(event.ErrUnsupported, "the model %q caches nothing for an hour", "use the cache that stays for five minutes", name)
	}
	var err error
	if m.caller, err = newCaller(&cfg, m.base, m.client); err != nil {
		return nil, err
	}
	return m, nil
}
