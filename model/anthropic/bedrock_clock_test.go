package anthropic_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/modeltest"
)

// A signature that Bedrock refuses because the clocks are apart is made again once, and from then
// on by the service's clock. The stand-in verifies signatures and their times.
func TestBedrockWithAWrongClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{time.Hour, -24 * time.Hour} {
		m, server := openBedrock(t, haiku, nil, anthropictest.BedrockText("a"), anthropictest.BedrockText("b"))
		server.Ahead = ahead
		for call, want := range []int{2, 3} { // requests so far
			if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || len(server.Asked()) != want {
				t.Fatalf("%v, call %d: %v after %d requests", ahead, call, r.Err, len(server.Asked()))
			}
		}
	}
}

// A wrong secret is refused at once, and where the correction is off nothing is asked again.
func TestBedrockSignaturesAreRefusedOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct {
		cfg   func(*aws.Config)
		ahead time.Duration
		want  int
	}{
		"a wrong secret": {func(c *aws.Config) {
			c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "AKIATEST000000000000", SecretAccessKey: "another", SessionToken: "session-token"}, nil
			})
		}, 0, 1},
		"correction is off": {func(c *aws.Config) { c.DisableClockSkewCorrection = true }, time.Hour, 1},
	} {
		server := anthropictest.StartBedrock()
		t.Cleanup(server.Close)
		server.Ahead = change.ahead
		cfg := server.Signed()
		change.cfg(&cfg)
		m, err := anthropic.NewBedrock(haiku, cfg, anthropic.BaseURL(server.URL), anthropic.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		if e := failed(t, modeltest.Call(t.Context(), m, hello())); e.Kind != event.ErrModelAuth || len(server.Asked()) != change.want {
			t.Errorf("%s: %v after %d requests", name, e, len(server.Asked()))
		}
	}
}
