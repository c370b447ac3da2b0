package bedrock_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

// If a signature is refused because the clocks differ, the model signs once more, and from then on
// by the service's clock. The stand-in verifies signatures and their times.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{
		"slow by an hour": time.Hour, "fast by a day": -24 * time.Hour, "slow by two years": 2 * 365 * 24 * time.Hour, "slow by six minutes": 6 * time.Minute,
	} {
		for _, how := range []bedrock.Streaming{bedrock.Stream, bedrock.Whole} {
			answer := bedrocktest.Text("Hello.")
			if how == bedrock.Whole {
				answer = bedrocktest.Whole(nil, "end_turn", event.Usage{})
			}
			m, server := open(t, pro, []bedrock.Option{bedrock.Answers(how)}, answer, answer)
			server.Ahead = ahead
			for call, want := range []int{2, 3} { // the number of requests so far
				if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil || len(server.Asked()) != want {
					t.Fatalf("%s, call %d: %v after %d requests", name, call, r.Err, len(server.Asked()))
				}
			}
		}
	}
}

// A clock that was corrected meanwhile is used again.
func TestAClockThatIsPutRight(t *testing.T) {
	t.Parallel()
	m, server := open(t, pro, nil, bedrocktest.Text("a"), bedrocktest.Text("b"))
	for _, ahead := range []time.Duration{time.Hour, 0} {
		server.Ahead = ahead
		if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if n := len(server.Asked()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// Only a wrong clock makes the model sign again, and only once.
func TestARefusedSignatureIsNotRepeated(t *testing.T) {
	t.Parallel()
	wrong := bedrocktest.Config()
	wrong.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: bedrocktest.KeyID, SecretAccessKey: "another", SessionToken: bedrocktest.Token}, nil
	})
	fixed := bedrocktest.Config()
	fixed.DisableClockSkewCorrection = true
	refusal := func(code string, date time.Time, header ...string) bedrocktest.Answer {
		a := bedrocktest.Error(403, code, "Signature expired")
		a.Header["Date"] = date.UTC().Format(http.TimeFormat)
		for i := 0; i < len(header); i += 2 {
			a.Header[header[i]] = header[i+1]
		}
		return a
	}
	hour := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		cfg     aws.Config
		ahead   time.Duration
		answers []bedrocktest.Answer
		want    int
	}{
		"a wrong secret":                  {wrong, 0, nil, 1},
		"a wrong secret and a wrong time": {wrong, time.Hour, nil, 2},
		"correction is off":               {fixed, time.Hour, nil, 1},
		"a key":                           {bedrocktest.KeyConfig(), 0, []bedrocktest.Answer{refusal("AccessDeniedException", hour)}, 1},
		"a time that goes on running away": {
			bedrocktest.Config(), 0, []bedrocktest.Answer{refusal("InvalidSignatureException", hour), refusal("InvalidSignatureException", hour.Add(time.Hour))}, 2,
		},
		"a time from a cache":   {bedrocktest.Config(), 0, []bedrocktest.Answer{refusal("InvalidSignatureException", hour, "Age", "9")}, 1},
		"no time at all":        {bedrocktest.Config(), 0, []bedrocktest.Answer{refusal("InvalidSignatureException", hour, "Date", "soon")}, 1},
		"four minutes":          {bedrocktest.Config(), 0, []bedrocktest.Answer{refusal("InvalidSignatureException", time.Now().Add(3*time.Minute))}, 1},
		"another word of AWS's": {bedrocktest.Config(), 0, []bedrocktest.Answer{refusal("UnrecognizedClientException", hour)}, 1},
	} {
		server := bedrocktest.Start(c.answers...)
		t.Cleanup(server.Close)
		server.Ahead = c.ahead
		m, err := bedrock.New(pro, c.cfg, bedrock.BaseURL(server.URL), bedrock.HTTPClient(server.Client()))
		if err != nil {
			t.Fatal(err)
		}
		e := failed(t, modeltest.Call(t.Context(), m, hello()))
		if n := len(server.Asked()); e.Kind != event.ErrModelAuth || n != c.want {
			t.Errorf("%s: %v after %d requests, want %d", name, e, n, c.want)
		}
		if strings.Contains(e.Error()+e.Err.Error(), "another") {
			t.Errorf("%s: a secret is told: %v", name, e)
		}
	}
}

// Concurrent calls correct the clock together.
func TestManyCallsWithAWrongClock(t *testing.T) {
	t.Parallel()
	const calls = 16
	answers := make([]bedrocktest.Answer, calls)
	for i := range answers {
		answers[i] = bedrocktest.Text("Hello.")
	}
	m, server := open(t, pro, nil, answers...)
	server.Ahead = time.Hour
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if r := modeltest.Call(t.Context(), m, hello()); r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	all.Wait()
	if n := len(server.Asked()); n > 2*calls {
		t.Errorf("%d requests", n)
	}
}
