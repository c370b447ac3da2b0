package bedrock

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model/internal/provider"
)

// partitions are the parts of AWS with their own host names, by the prefix of their regions' names. All others,
// including us-gov, use the last row. Table and names follow partitions.json of aws-sdk-go-v2
// (internal/endpoints/awsrulesfn) and the rules of its service/bedrockruntime/endpoints.go.
var partitions = []struct{ begins, suffix, dual string }{
	{"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
	{"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
	{"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
	{"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
	{"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
	{"", "amazonaws.com", "api.aws"},
}

// regionNames matches names that can be part of a host.
var regionNames = lazyre.New(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// service is the API's name in AWS's configuration.
const service = "Bedrock Runtime"

// endpoint is the API's address and how it is called.
type endpoint struct {
	// address has no trailing slash.
	address string
	// region is the one in signatures.
	region string
	// own reports that the address is not the region's default.
	own bool
}

// place returns the endpoint for error messages.
func (e *endpoint) place() string {
	if e.own {
		return e.address
	}
	return "the region " + e.region
}

// endpointOf returns the endpoint: base, the configured one, or that of the region, in this order.
func endpointOf(cfg *aws.Config, base string) (endpoint, error) {
	region, fips := plainRegion(cfg.Region)
	if !regionNames.MatchString(region) {
		return endpoint{}, wrong("the AWS region is not a valid name", "set "+RegionVariable+" to one such as us-east-1")
	}
	fips = fips || asks[fipsSource](cfg.ConfigSources, func(s fipsSource) (aws.FIPSEndpointState, bool, error) {
		return s.GetUseFIPSEndpoint(context.Background())
	}, aws.FIPSEndpointStateEnabled)
	dual := asks[dualSource](cfg.ConfigSources, func(s dualSource) (aws.DualStackEndpointState, bool, error) {
		return s.GetUseDualStackEndpoint(context.Background())
	}, aws.DualStackEndpointStateEnabled)
	at := endpoint{region: region}
	given := base
	if given == "" {
		given = configured(cfg)
	}
	switch {
	case given != "" && (fips || dual):
		return endpoint{}, wrong("an address of its own goes neither with FIPS nor with dual-stack endpoints",
			"leave the address out, or AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT")
	case given != "":
		if !provider.Address(given) {
			return endpoint{}, wrong("the endpoint that AWS's configuration names for Amazon Bedrock is no address",
				"write it as https://host, without a user")
		}
		at.address, at.own = strings.TrimSuffix(given, "/"), true
		return at, nil
	}
	if older, ok, err := resolved(cfg, region); err != nil || ok {
		return older, err
	}
	host := "https://bedrock-runtime"
	if fips {
		host += "-fips"
	}
	for _, p := range partitions {
		if strings.HasPrefix(region, p.begins) {
			at.address = host + "." + region + "." + p.suffix
			if dual {
				at.address = host + "." + region + "." + p.dual
			}
			break
		}
	}
	return at, nil
}

// plainRegion parses the old names of regions that request FIPS, such as fips-us-gov-west-1.
func plainRegion(region string) (plain string, fips bool) {
	plain = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(region, "-fips-", "-"), "fips-", ""), "-fips", "")
	return plain, plain != region
}

// The sources of a configuration implement these interfaces, if they are AWS's own (package config).
type (
	fipsSource interface {
		GetUseFIPSEndpoint(ctx context.Context) (aws.FIPSEndpointState, bool, error)
	}
	dualSource interface {
		GetUseDualStackEndpoint(ctx context.Context) (aws.DualStackEndpointState, bool, error)
	}
	endpointSource interface {
		GetServiceBaseEndpoint(ctx context.Context, sdkID string) (string, bool, error)
	}
	ignoringSource interface {
		GetIgnoreConfiguredEndpoints(ctx context.Context) (bool, bool, error)
	}
)

// asks reports whether the first source that has a value has the value want.
func asks[S any, V comparable](sources []any, get func(S) (V, bool, error), want V) bool {
	for _, source := range sources {
		if s, ok := source.(S); ok {
			if v, found, err := get(s); found && err == nil {
				return v == want
			}
		}
	}
	return false
}

// configured returns the endpoint in the configuration. One for this service takes precedence over one for all
// services.
func configured(cfg *aws.Config) string {
	ignore := asks[ignoringSource](cfg.ConfigSources, func(s ignoringSource) (bool, bool, error) {
		return s.GetIgnoreConfiguredEndpoints(context.Background())
	}, true)
	if !ignore {
		for _, source := range cfg.ConfigSources {
			if s, ok := source.(endpointSource); ok {
				if address, found, err := s.GetServiceBaseEndpoint(context.Background(), service); found && err == nil {
					return address
				}
			}
		}
	}
	return aws.ToString(cfg.BaseEndpoint)
}

// resolved calls the functions with which older programs set endpoints.
func resolved(cfg *aws.Config, region string) (endpoint, bool, error) {
	var e aws.Endpoint //nolint:staticcheck // programs still set its resolver
	var err error
	switch {
	case cfg.EndpointResolverWithOptions != nil: //nolint:staticcheck // programs still set it
		e, err = cfg.EndpointResolverWithOptions.ResolveEndpoint(service, region) //nolint:staticcheck // as above
	case cfg.EndpointResolver != nil: //nolint:staticcheck // as above
		e, err = cfg.EndpointResolver.ResolveEndpoint(service, region) //nolint:staticcheck // as above
	default:
		return endpoint{}, false, nil
	}
	if missing := (*aws.EndpointNotFoundError)(nil); errors.As(err, &missing) {
		return endpoint{}, false, nil
	}
	if err != nil || !provider.Address(e.URL) {
		return endpoint{}, false, wrong("the configuration's own endpoint resolver gives no address for Amazon Bedrock", "look at what it answers")
	}
	at := endpoint{address: strings.TrimSuffix(e.URL, "/"), region: region, own: true}
	if e.SigningRegion != "" {
		at.region = e.SigningRegion
	}
	return at, true, nil
}

// escaped returns a model's id as one part of a path. Everything except letters, digits and -._~ is percent-encoded,
// as AWS does (smithy-go/encoding/httpbinding).
func escaped(id string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(id)+16)
	for i := range len(id) {
		c := id[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b = append(b, c)
			continue
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	return string(b)
}
