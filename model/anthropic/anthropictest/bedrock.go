package anthropictest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sigv4"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/vendortest"
)

// The server for Bedrock accepts this API key, and requests signed with this key for this region.
const (
	BedrockKey = "ABSKtest0000000000000000000000000000"
	Region     = "us-east-1"
)

var awsKeys = sigv4.Keys{ID: "AKIATEST000000000000", Secret: "test/secret/0000000000000000000000000000", Token: "session-token"}

// Keyed returns a configuration that calls the server with the API key.
func (s *Server) Keyed() aws.Config {
	key := bearer.StaticTokenProvider{Token: bearer.Token{Value: BedrockKey}}
	return aws.Config{Region: Region, BaseEndpoint: &s.URL, BearerAuthTokenProvider: key}
}

// Signed returns a configuration that signs its requests to the server.
func (s *Server) Signed() aws.Config {
	return aws.Config{Region: Region, BaseEndpoint: &s.URL, Credentials: aws.CredentialsProviderFunc(
		func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: awsKeys.ID, SecretAccessKey: awsKeys.Secret, SessionToken: awsKeys.Token}, nil
		},
	)}
}

// StartBedrock starts a server that behaves as Amazon Bedrock with Claude: the operation
// InvokeModelWithResponseStream (AWS's page model-parameters-anthropic-claude-messages and the API reference). It
// verifies signatures. Answers are those of [BedrockStream], [BedrockText] and [BedrockError].
func StartBedrock(answers ...Answer) *Server {
	s := &Server{said: map[string]string{}, bedrock: true}
	vendortest.Start(&s.Server, vendortest.Rules{
		Type: "application/vnd.amazon.eventstream", ID: "X-Amzn-RequestId", Largest: largestBedrock, Check: s.deny, Learn: s.learn,
		Unprepared: BedrockError(http.StatusInternalServerError, "InternalServerException", "The test has no answer to this request"),
	}, answers...)
	return s
}

// BedrockError returns an error of Bedrock in place of a stream.
func BedrockError(status int, kind, message string) Answer {
	return Answer{
		Status: status, Body: fmt.Sprintf(`{"message":%s}`, quote(message)),
		Header: map[string]string{
			"Content-Type": "application/json", "X-Amzn-ErrorType": kind + ":http://internal.amazon.com/coral/com.amazon.bedrock/",
		},
	}
}

// BedrockText returns an answer with one text that ends the turn.
func BedrockText(pieces ...string) Answer {
	chunks := make([]model.Chunk, len(pieces))
	for i, p := range pieces {
		chunks[i] = model.Chunk{Kind: model.ChunkText, Text: p}
	}
	return BedrockStream(chunks, "end_turn", event.Usage{Input: 12, Output: int64(3 * len(pieces))})
}

// BedrockStream returns a complete answer, as [Stream] does. Bedrock does not report the tokens of thinking, and adds
// its own data at the end.
func BedrockStream(chunks []model.Chunk, stop string, u event.Usage) Answer {
	end := fmt.Sprintf("data: "+`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":%d,"outputTokenCount":%d,`+
		`"invocationLatency":1200,"firstByteLatency":300}}`+"\n\n", u.Input, u.Output)
	return Answer{Body: Frames(events(chunks, stop, u, "") + end)}
}

// Frames returns the API's server-sent events in Bedrock's form: base64 in the messages of a binary event stream,
// with padding.
func Frames(events string) string {
	const padding = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var b []byte
	n := 0
	for line := range strings.Lines(events) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		n = (n*31 + len(data)) % len(padding)
		b = awsframe.Append(b, "event", "chunk", fmt.Appendf(nil, `{"bytes":"%s","p":"%s"}`,
			base64.StdEncoding.EncodeToString([]byte(strings.TrimSpace(data))), padding[:n]))
	}
	return string(b)
}

// Exception returns an error that ends a stream of Bedrock, such as "throttlingException".
func Exception(name, message string) string {
	return string(awsframe.Append(nil, "exception", name, fmt.Appendf(nil, `{"message":%s}`, quote(message))))
}

// unframed returns the server-sent events in a stream of Bedrock.
func unframed(body string) []byte {
	var out []byte
	r := awsframe.NewReader(strings.NewReader(body))
	for {
		f, err := r.Next()
		if err != nil {
			return out
		}
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		if json.Unmarshal(f.Payload, &chunk) == nil {
			out = fmt.Appendf(out, "data: %s\n", chunk.Bytes)
		}
	}
}

// largestBedrock is the maximum size of a body for InvokeModel.
const largestBedrock = 25_000_000

// The ids of models, and of inference profiles for groups of regions.
var (
	modelIDs = regexp.MustCompile(`^(?:(us|eu|apac|jp|au|ca|us-gov|global)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v\d+(?::\d+)?)?$`)
	// arns matches ARNs of profiles.
	arns    = regexp.MustCompile(`^arn:aws:bedrock:` + Region + `:\d{12}:inference-profile/`)
	invoked = regexp.MustCompile(`^/model/([^/]+)/(invoke-with-response-stream|count-tokens)$`)
	// alone matches the models that need no profile.
	alone = regexp.MustCompile(`^claude-3-(haiku|sonnet|opus|5)`)
)

// deny returns Bedrock's reason to refuse a request.
func (s *Server) deny(r *http.Request, body []byte) *vendortest.Refusal {
	no := func(status int, kind, message string) *vendortest.Refusal {
		return &vendortest.Refusal{Why: message, Answer: BedrockError(status, kind, message)}
	}
	invalid := func(format string, args ...any) *vendortest.Refusal {
		return no(http.StatusBadRequest, "ValidationException", fmt.Sprintf(format, args...))
	}
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		if key != BedrockKey {
			return no(http.StatusForbidden, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.")
		}
	} else if code, message := sigv4.Check(r, body, awsKeys, Region, "bedrock", time.Now().Add(s.Ahead)); code != "" {
		denied := no(http.StatusForbidden, code, message)
		denied.Answer.Header["Date"] = time.Now().Add(s.Ahead).UTC().Format(http.TimeFormat)
		return denied
	}
	path := invoked.FindStringSubmatch(r.URL.EscapedPath())
	switch {
	case path == nil || r.URL.RawQuery != "":
		return no(http.StatusNotFound, "UnknownOperationException", "")
	case r.Method != http.MethodPost:
		return no(http.StatusMethodNotAllowed, "UnknownOperationException", "")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return invalid("The provided Content Type is invalid or not supported for this model")
	case r.Header.Get("Anthropic-Beta") != "":
		return invalid("anthropic-beta: betas belong in the body") // not the API's words
	case r.Header.Get("Anthropic-Version") != "":
		return invalid("anthropic-version: the version belongs in the body") // not the API's words
	case len(body) > largestBedrock:
		return invalid("1 validation error detected: Value at 'body' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", largestBedrock)
	}
	id, err := url.PathUnescape(path[1])
	if arns.MatchString(id) {
		id = id[strings.LastIndexByte(id, '/')+1:]
	}
	known := modelIDs.FindStringSubmatch(id)
	if err != nil || known == nil {
		return invalid("The provided model identifier is invalid.")
	}
	if known[1] == "" && !alone.MatchString(known[2]) && path[2] != "count-tokens" {
		return invalid("Invocation of model ID %s with on-demand throughput isn\u2019t supported. "+
			"Retry your request with the ID or ARN of an inference profile that contains this model.", id)
	}
	count := path[2] == "count-tokens"
	if count {
		if known[1] != "" || arns.MatchString(path[1]) {
			return invalid("The provided model doesn't support counting tokens.")
		}
		var asked struct {
			Input struct {
				Invoke struct {
					Body []byte `json:"body"`
				} `json:"invokeModel"`
			} `json:"input"`
		}
		if json.Unmarshal(body, &asked) != nil || len(asked.Input.Invoke.Body) == 0 {
			return invalid("1 validation error detected: Value at 'input' failed to satisfy constraint: Member must not be null")
		}
		body = asked.Input.Invoke.Body
	}
	c := &checker{server: s, model: known[2], ids: map[string]bool{}, toolsets: map[string]bool{}}
	c.request(body)
	window := s.Window
	if window == 0 {
		window = 1_000_000
	}
	switch {
	case c.problem != "":
		return invalid("%s", c.problem)
	case (len(body)-c.files)/4 > window:
		return invalid("Input is too long for requested model.")
	case count:
		return given(fmt.Sprintf(`{"inputTokens":%d}`, (len(body)-c.files)/4))
	}
	return nil
}

// bodyVersion checks the API's version, which Bedrock and Vertex AI require in the body.
func (c *checker) bodyVersion(o object) {
	want := "bedrock-2023-05-31"
	if c.server.vertex {
		want = "vertex-2023-10-16"
	}
	if v := c.str(o, "", "anthropic_version"); v != want {
		c.fail("anthropic_version: %q is not a valid version", v)
	}
	if bytes.Contains(o["thinking"], []byte(`"display"`)) && late(c.model) < 407 {
		c.fail("thinking.adaptive.display: Extra inputs are not permitted")
	}
}
