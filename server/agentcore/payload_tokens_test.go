package agentcore_test

import (
	"strings"
	"testing"
)

// Headers that bring a secret are hidden where the agent repeats them, and headers that bring something else are not.
func TestHeadersThatAreSecret(t *testing.T) {
	t.Parallel()
	const custom = "X-Amzn-Bedrock-AgentCore-Runtime-Custom-"
	for _, c := range []struct{ header, value, want string }{
		{custom + "Github-Token", "ghp_0123 456789abcdef", "[redacted]"},
		{custom + "Api-Key", "key-0123456789", "[redacted]"},
		{custom + "Region", "ap-northeast-1", "ap-northeast-1"},
		{"WorkloadAccessToken", "wat-0123456789", "[redacted]"},
		{"OAuth2CallbackUrl", "https://app.example/callback", "https://app.example/callback"},
	} {
		s := open(t, nil)
		for _, accept := range []string{"text/event-stream", "application/json"} {
			got := s.say("it is "+c.value+" here", c.header, c.value, "Accept", accept)
			if got.code != 200 || !strings.Contains(got.body, c.want) || c.want == "[redacted]" && strings.Contains(got.body, "456789") {
				t.Errorf("%s as %s: %d %s", c.header, accept, got.code, got.body)
			}
		}
		if tokens := s.agent.Load().Tokens; len(tokens) != 1 {
			t.Errorf("%s: the agent is given %d tokens", c.header, len(tokens))
		}
	}
}
