package models

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/auth/bearer"
	"github.com/aws/smithy-go/logging"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/bedrock"
)

var (
	bedrockIDs = lazyre.New(`^[a-z0-9][A-Za-z0-9.:/_-]{2,299}$`)
	awsRegions = lazyre.New(`^[a-z]{2}(-[a-z]+)+-\d{1,2}$`)
	awsARN     = lazyre.New(`^arn:aws[a-z-]*:bedrock:([a-z0-9-]+):`)
	geography  = lazyre.New(`^(us-gov|[a-z]{2}|apac|global)\.`)
)

// openBedrock opens a model by AWS's id; "" is the default of package bedrock. It calls Claude
// through Anthropic's API there, and other models, and Claude with ?api=converse, through Converse.
// It makes no network request, not even for credentials: that happens on the first call.
func openBedrock(g *opening) (model.Model, error) {
	id := cmp.Or(g.name, bedrock.Default)
	if !bedrockIDs.MatchString(id) {
		return nil, g.noSuch(bedrock.Default)
	}
	var base, key, region, profile, api, as, cache string
	var stall *time.Duration
	err := g.settings(bedrock.Default+"?region=eu-west-1", together(g.optionSettings(&g.defaults), map[string]setting{
		"base": address(&base), "key": keyIn(&key), "stall": patience(&stall), "api": word(&api, "converse", "invoke"),
		"region":  func(v string) bool { region = v; return awsRegions.MatchString(v) },
		"profile": func(v string) bool { profile = v; return v != "" },
		"as":      func(v string) bool { as = v; return bedrockIDs.MatchString(v) },
		"cache":   word(&cache, "auto", "hour", "off"),
	}))
	if err != nil {
		return nil, err
	}
	asked := base != ""
	if !asked {
		base = g.variable(awsEndpoint)
	}
	cfg, err := g.aws(id, region, profile, key)
	if err != nil {
		return nil, err
	}
	g.place = cfg.Region
	var m model.Model
	switch claude := strings.Contains(id, "anthropic.claude-") || strings.Contains(as, "anthropic.claude-"); {
	case claude && api != "converse":
		m, err = invoked(id, cfg, base, cache, stall)
	case api == "invoke":
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "only Claude is called through Anthropic's API on Amazon Bedrock", Hint: "leave api out",
		}
	default:
		m, err = conversed(id, cfg, base, as, cache, stall)
	}
	if err != nil && !asked {
		err = from(err, awsEndpoint, base)
	}
	return m, err
}

// invoked returns a model of Claude through Anthropic's API.
func invoked(id string, cfg aws.Config, base, cache string, stall *time.Duration) (model.Model, error) {
	opts := []anthropic.Option{anthropic.BaseURL(base)}
	switch cache {
	case "off":
		opts = append(opts, anthropic.Cache(anthropic.CacheOff))
	case "hour":
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "Anthropic's API on Amazon Bedrock is asked for caches of five minutes here",
			Hint: "write ?api=converse&cache=hour, or leave cache out",
		}
	}
	if stall != nil {
		opts = append(opts, anthropic.Stall(*stall))
	}
	m, err := anthropic.NewBedrock(id, cfg, opts...)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// conversed returns a model through Converse.
func conversed(id string, cfg aws.Config, base, as, cache string, stall *time.Duration) (model.Model, error) {
	opts := []bedrock.Option{bedrock.BaseURL(base)}
	if as != "" {
		opts = append(opts, bedrock.As(as))
	}
	if cache != "" {
		opts = append(opts, bedrock.Cache(bedrock.CachePoints(cache)))
	}
	if stall != nil {
		opts = append(opts, bedrock.Stall(*stall))
	}
	m, err := bedrock.New(id, cfg, opts...)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// aws returns the configuration with credentials and region. A Bedrock key has precedence; then it
// uses the sources of AWS's tools, in their order.
func (g *opening) aws(id, region, profile, key string) (aws.Config, error) {
	loads := []func(*config.LoadOptions) error{
		// The automatic mode would ask the machine's metadata service.
		config.WithDefaultsMode(aws.DefaultsModeStandard),
		config.WithRetryMaxAttempts(1),
		// Its messages are in its errors too.
		config.WithLogger(logging.Nop{}),
	}
	own := g.variable(awsKeyID) != "" && g.variable(awsKey) != ""
	switch named := cmp.Or(profile, g.variable(awsProfile)); {
	case profile == "" && own:
		loads = append(loads, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(
			g.variable(awsKeyID), g.variable(awsKey), g.variable(awsSession))))
	case named != "":
		loads = append(loads, config.WithSharedConfigProfile(named))
	}
	for variable, load := range map[string]func([]string) config.LoadOptionsFunc{
		"AWS_CONFIG_FILE": config.WithSharedConfigFiles, "AWS_SHARED_CREDENTIALS_FILE": config.WithSharedCredentialsFiles,
	} {
		if file := g.variable(variable); file != "" {
			loads = append(loads, load([]string{file}))
		}
	}
	cfg, err := config.LoadDefaultConfig(context.Background(), loads...)
	if none := (config.SharedConfigProfileNotExistError{}); errors.As(err, &none) {
		return cfg, &event.Error{
			Op: op, Kind: event.ErrInvalid, Err: err, Message: "there is no AWS profile of that name",
			Hint: "look at AWS_PROFILE, and at what \"aws configure list-profiles\" shows",
		}
	}
	if err != nil {
		return cfg, &event.Error{
			Op: op, Kind: event.ErrInvalid, Err: err, Message: "the configuration of AWS cannot be read",
			Hint: "look at AWS's configuration and credentials files",
		}
	}
	if cfg.Region, err = whereServed(id, region, g.variable(awsRegion), g.variable(awsDefaultRegion), cfg.Region); err != nil {
		return cfg, err
	}
	switch {
	case key != "":
		g.key = key
	case profile == "":
		g.key = bedrock.KeyVariable
	}
	// The configuration may contain the token of an SSO session, which is not valid for Bedrock.
	cfg.BearerAuthTokenProvider = nil
	if token := g.variable(g.key); token != "" {
		cfg.BearerAuthTokenProvider = bearer.StaticTokenProvider{Token: bearer.Token{Value: token}}
		cfg.AuthSchemePreference = []string{"httpBearerAuth"}
	} else if key != "" {
		return cfg, g.noKey(bedrock.KeyVariable, false)
	}
	return cfg, nil
}

// geographies says for each geography which regions can call its profiles, by their prefixes, and
// which region is the default.
var geographies = map[string]struct {
	regions []string
	home    string
}{
	"us": {[]string{"us-east-", "us-west-", "ca-"}, "us-east-1"}, "us-gov": {[]string{"us-gov-"}, "us-gov-west-1"},
	"eu": {[]string{"eu-"}, "eu-west-1"}, "apac": {[]string{"ap-"}, "ap-northeast-1"}, "jp": {[]string{"ap-northeast-"}, "ap-northeast-1"},
	"au": {[]string{"ap-southeast-"}, "ap-southeast-2"}, "ca": {[]string{"ca-"}, "ca-central-1"},
}

// whereServed returns the region of a model: that of its ARN, or the first named region, or else
// the home of its profile.
func whereServed(id string, named ...string) (string, error) {
	region := cmp.Or(named...)
	if arn := awsARN.FindStringSubmatch(id); arn != nil && arn[1] != "" {
		if named[0] != "" && named[0] != arn[1] {
			return "", &event.Error{
				Op: op, Kind: event.ErrInvalid, Message: "the model's ARN is of another region than the one that is named", Hint: "leave region out",
			}
		}
		return arn[1], nil
	}
	profile := strings.TrimSuffix(geography.FindString(id), ".")
	g, bound := geographies[profile]
	switch {
	case region == "" && bound:
		return g.home, nil
	case region == "":
		return "", &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "no AWS region is set for Bedrock",
			Hint: "set " + awsRegion + ", or write bedrock:…?region=us-east-1",
		}
	case !awsRegions.MatchString(region):
		return "", &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the AWS region is not a valid name", Hint: "set " + awsRegion + " to one such as us-east-1",
		}
	case !bound:
		return region, nil
	}
	for _, begins := range g.regions {
		if strings.HasPrefix(region, begins) {
			return region, nil
		}
	}
	return "", &event.Error{
		Op: op, Kind: event.ErrModelNotFound, Message: "a model that begins with \"" + profile + ".\" is not served in " + region,
		Hint: "take the model's name with your region's beginning, such as " + beginningIn(region) + ", or a region of its own: ?region=" + g.home,
	}
}

// beginningIn returns the prefix of the models of a region's geography.
func beginningIn(region string) string {
	for _, profile := range []string{"us-gov", "us", "eu", "jp", "au", "ca", "apac"} {
		for _, begins := range geographies[profile].regions {
			if strings.HasPrefix(region, begins) {
				return profile + "."
			}
		}
	}
	return "global."
}
