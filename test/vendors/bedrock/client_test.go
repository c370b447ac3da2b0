// Package bedrock_test lets AWS's own client read what the stand-in for Amazon Bedrock answers,
// and AWS's own types read what our provider asks.
package bedrock_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

const (
	sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	latest = "us.anthropic.claude-sonnet-5-5"
	nova   = "us.amazon.nova-2-lite-v1:0"
	pro    = "amazon.nova-pro-v1:0"
	scout  = "us.meta.llama4-scout-17b-instruct-v1:0"
	oss    = "openai.gpt-oss-120b-1:0"
)

// client is AWS's own, without retries.
func client(s *bedrocktest.Server, cfg aws.Config) *bedrockruntime.Client {
	return bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) {
		o.BaseEndpoint, o.HTTPClient, o.Retryer = aws.String(s.URL), s.Client(), aws.NopRetryer{}
	})
}

func ours(t testing.TB, s *bedrocktest.Server, id string, opts ...bedrock.Option) *bedrock.Model {
	t.Helper()
	m, err := bedrock.New(id, bedrocktest.Config(), append([]bedrock.Option{bedrock.BaseURL(s.URL), bedrock.HTTPClient(s.Client())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func start(t testing.TB, answers ...bedrocktest.Answer) *bedrocktest.Server {
	t.Helper()
	s := bedrocktest.Start(answers...)
	t.Cleanup(s.Close)
	return s
}

func hello() []event.Message {
	return []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hello."}}}}
}

func said() []types.Message {
	return []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Hello."}}}}
}

func tools() *types.ToolConfiguration {
	return &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
		Name: aws.String("add"), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object", "properties": map[string]any{}})},
	}}}}
}

// heard is an answer as AWS's client gives it, block by block.
type heard struct {
	blocks []string
	stop   string
	usage  string
}

func counted(u *types.TokenUsage) string {
	hour := int32(0)
	for _, c := range u.CacheDetails {
		if c.Ttl == types.CacheTTLOneHour {
			hour += *c.InputTokens
		}
	}
	return fmt.Sprint(*u.InputTokens, *u.OutputTokens, *u.TotalTokens, aws.ToInt32(u.CacheReadInputTokens), aws.ToInt32(u.CacheWriteInputTokens), hour)
}

func stream(t *testing.T, c *bedrockruntime.Client) (h heard, err error) {
	t.Helper()
	out, err := c.ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{ModelId: aws.String(sonnet), Messages: said(), ToolConfig: tools()})
	if err != nil {
		return h, err
	}
	blocks := map[int32]string{}
	var order []int32
	add := func(i *int32, kind, text string) {
		if _, ok := blocks[*i]; !ok {
			order = append(order, *i)
			blocks[*i] = kind
		}
		blocks[*i] += text
	}
	for e := range out.GetStream().Events() {
		switch e := e.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			if s, ok := e.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
				add(e.Value.ContentBlockIndex, "call "+*s.Value.Name+" "+*s.Value.ToolUseId+" ", "")
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			i := e.Value.ContentBlockIndex
			switch d := e.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				add(i, "text ", d.Value)
			case *types.ContentBlockDeltaMemberToolUse:
				add(i, "", *d.Value.Input)
			case *types.ContentBlockDeltaMemberReasoningContent:
				switch r := d.Value.(type) {
				case *types.ReasoningContentBlockDeltaMemberText:
					add(i, "thinking ", r.Value)
				case *types.ReasoningContentBlockDeltaMemberSignature:
					add(i, "thinking ", " signed "+r.Value)
				case *types.ReasoningContentBlockDeltaMemberRedactedContent:
					add(i, "redacted ", base64.StdEncoding.EncodeToString(r.Value))
				}
			case *types.ContentBlockDeltaMemberCitation:
				w, _ := d.Value.Location.(*types.CitationLocationMemberWeb)
				add(aws.Int32(1000+*i), "citation ", *d.Value.Title+" "+*w.Value.Url)
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			h.stop = string(e.Value.StopReason)
		case *types.ConverseStreamOutputMemberMetadata:
			h.usage = counted(e.Value.Usage)
		}
	}
	for _, i := range order {
		h.blocks = append(h.blocks, blocks[i])
	}
	return h, errors.Join(out.GetStream().Err(), out.GetStream().Close())
}

func whole(t *testing.T, c *bedrockruntime.Client) (h heard, err error) {
	t.Helper()
	out, err := c.Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: aws.String(sonnet), Messages: said(), ToolConfig: tools()})
	if err != nil {
		return h, err
	}
	m, _ := out.Output.(*types.ConverseOutputMemberMessage)
	for _, b := range m.Value.Content {
		switch b := b.(type) {
		case *types.ContentBlockMemberText:
			h.blocks = append(h.blocks, "text "+b.Value)
		case *types.ContentBlockMemberToolUse:
			args, err := b.Value.Input.MarshalSmithyDocument()
			if err != nil {
				t.Fatal(err)
			}
			h.blocks = append(h.blocks, "call "+*b.Value.Name+" "+*b.Value.ToolUseId+" "+string(args))
		case *types.ContentBlockMemberReasoningContent:
			switch r := b.Value.(type) {
			case *types.ReasoningContentBlockMemberReasoningText:
				h.blocks = append(h.blocks, "thinking "+*r.Value.Text+" signed "+*r.Value.Signature)
			case *types.ReasoningContentBlockMemberRedactedContent:
				h.blocks = append(h.blocks, "redacted "+base64.StdEncoding.EncodeToString(r.Value))
			}
		}
	}
	h.stop, h.usage = string(out.StopReason), counted(out.Usage)
	return h, nil
}

// read is the same answer as our provider gives it.
func read(r *modeltest.Read) (h heard) {
	for _, b := range r.Content {
		switch b := b.(type) {
		case *event.Text:
			h.blocks = append(h.blocks, "text "+b.Text)
		case *event.ToolCall:
			h.blocks = append(h.blocks, "call "+b.Name+" "+b.ID+" "+string(b.Args))
		case *event.Thinking:
			h.blocks = append(h.blocks, "thinking "+b.Text+" signed "+b.Signature)
		case *event.RedactedThinking:
			h.blocks = append(h.blocks, "redacted "+b.Data)
		case *event.Citation:
			h.blocks = append(h.blocks, "citation "+b.Title+" "+b.URL)
		}
	}
	h.stop = string(r.Stop)
	if r.Stop == event.StopContextOverflow {
		h.stop = "model_context_window_exceeded"
	}
	u := r.Usage
	h.usage = fmt.Sprint(u.Input, u.Output, u.Total, u.CacheRead, u.CacheWrite, u.CacheWriteHour)
	return h
}

// AWS's client reads the stand-in's answers, streamed and whole, as our provider does.
func TestAnswers(t *testing.T) {
	t.Parallel()
	add := []model.ToolSpec{{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	usage := event.Usage{Input: 10, Output: 20, Total: 130, CacheRead: 60, CacheWrite: 40, CacheWriteHour: 30}
	for name, c := range map[string]struct {
		chunks  []model.Chunk
		stop    string
		streams bool // it comes in streams alone
	}{
		"text": {[]model.Chunk{{Kind: model.ChunkText, Text: "Hello, "}, {Kind: model.ChunkText, Text: "世界 \u2028\"\\"}}, "end_turn", false},
		"thinking and calls": {[]model.Chunk{
			{Kind: model.ChunkThinking, Text: "Hm."},
			{Kind: model.ChunkSignature, Text: "c2ln"},
			{Kind: model.ChunkText, Index: 1, Text: "I add."},
			{Kind: model.ChunkCall, Index: 2, ID: "c1", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 2, Text: `{"a":1,"b":[2]}`},
			{Kind: model.ChunkCall, Index: 3, ID: "c2", Text: "add"},
			{Kind: model.ChunkCallInput, Index: 3, Text: `{"a":2}`},
		}, "tool_use", false},
		"redacted": {[]model.Chunk{
			{Kind: model.ChunkBlock, Block: &event.RedactedThinking{Data: "aGlkZGVu"}}, {Kind: model.ChunkText, Index: 1, Text: "So."},
		}, "stop_sequence", false},
		"citations": {[]model.Chunk{
			{Kind: model.ChunkText, Text: "It is."}, {Kind: model.ChunkBlock, Index: 1, Block: &event.Citation{Title: "E", Quote: "q", URL: "https://e.com"}},
		}, "max_tokens", true},
		"nothing": {nil, "model_context_window_exceeded", true},
	} {
		s := start(t, bedrocktest.Stream(c.chunks, c.stop, usage), bedrocktest.Stream(c.chunks, c.stop, usage))
		theirs, err := stream(t, client(s, bedrocktest.Config()))
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, s.Asked()[0].Refused)
		}
		r := modeltest.Call(t.Context(), ours(t, s, sonnet), &model.Request{Messages: hello(), Tools: add})
		if got := read(&r); r.Err != nil || fmt.Sprint(got) != fmt.Sprint(theirs) {
			t.Errorf("%s: %v\nours   %q\ntheirs %q", name, r.Err, got, theirs)
		}
		if c.streams {
			continue
		}
		s = start(t, bedrocktest.Whole(c.chunks, c.stop, usage), bedrocktest.Whole(c.chunks, c.stop, usage))
		if theirs, err = whole(t, client(s, bedrocktest.Config())); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r = modeltest.Call(t.Context(), ours(t, s, sonnet, bedrock.Answers(bedrock.Whole)), &model.Request{Messages: hello(), Tools: add})
		if got := read(&r); r.Err != nil || fmt.Sprint(got) != fmt.Sprint(theirs) {
			t.Errorf("%s, whole: %v\nours   %q\ntheirs %q", name, r.Err, got, theirs)
		}
	}
}

// Errors before and in a stream have the names by which AWS's client knows them.
func TestErrors(t *testing.T) {
	t.Parallel()
	for kind, status := range map[string]int{
		"ThrottlingException": 429, "ValidationException": 400, "AccessDeniedException": 403, "ResourceNotFoundException": 404, "ModelTimeoutException": 408,
		"InternalServerException": 500, "ServiceUnavailableException": 503, "ModelErrorException": 424, "ModelNotReadyException": 429,
	} {
		s := start(t, bedrocktest.Error(status, kind, "no"))
		_, err := stream(t, client(s, bedrocktest.Config()))
		var e smithy.APIError
		if !errors.As(err, &e) || e.ErrorCode() != kind || e.ErrorMessage() != "no" || strings.Contains(fmt.Sprintf("%T", e), "Generic") {
			t.Errorf("%s: %T %v", kind, e, err)
		}
	}
	for _, kind := range []string{
		"internalServerException", "modelStreamErrorException", "serviceUnavailableException", "throttlingException", "validationException",
	} {
		body := bedrocktest.Begun([]model.Chunk{{Kind: model.ChunkText, Text: "Hel"}}) + bedrocktest.Exception(kind, "no")
		s := start(t, bedrocktest.Answer{Body: body}, bedrocktest.Answer{Body: body})
		_, err := stream(t, client(s, bedrocktest.Config()))
		var e smithy.APIError
		if !errors.As(err, &e) || !strings.EqualFold(e.ErrorCode(), kind) || e.ErrorMessage() != "no" {
			t.Errorf("%s: %T %v", kind, e, err)
		}
		var mine *event.Error
		if r := modeltest.Call(t.Context(), ours(t, s, sonnet), &model.Request{Messages: hello()}); !errors.As(r.Err, &mine) || mine.Code != kind {
			t.Errorf("%s: %v", kind, r.Err)
		}
	}
	s := start(t)
	wrong := bedrocktest.Config()
	wrong.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: bedrocktest.KeyID, SecretAccessKey: "another", SessionToken: bedrocktest.Token}, nil
	})
	var e smithy.APIError
	if _, err := stream(t, client(s, wrong)); !errors.As(err, &e) || e.ErrorCode() != "InvalidSignatureException" {
		t.Error(err)
	}
}

// AWS's client counts tokens there, and by the same id as we.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	s := start(t, bedrocktest.Counted(7), bedrocktest.Counted(7))
	out, err := client(s, bedrocktest.Config()).CountTokens(t.Context(), &bedrockruntime.CountTokensInput{
		ModelId: aws.String("anthropic.claude-sonnet-4-5-20250929-v1:0"),
		Input:   &types.CountTokensInputMemberConverse{Value: types.ConverseTokensRequest{Messages: said()}},
	})
	if err != nil || *out.InputTokens != 7 {
		t.Fatal(err)
	}
	if n, err := model.Count(t.Context(), ours(t, s, sonnet, bedrock.Cache(bedrock.CacheOff)), &model.Request{Messages: hello()}); n != 7 || err != nil {
		t.Fatal(n, err)
	}
	asked := s.Asked()
	if asked[0].Path != asked[1].Path {
		t.Errorf("%s, AWS's client: %s", asked[1].Path, asked[0].Path)
	}
	compare(t, "a count", asked[1].Body, asked[0].Body)
}

// quick does not wait between attempts.
type quick struct{ aws.Retryer }

func (quick) RetryDelay(int, error) (time.Duration, error) { return 0, nil }

// A signature that is refused for the clock is made again by AWS's client as by ours, and after
// as many requests.
func TestClocks(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 3 * time.Minute, 6 * time.Minute, time.Hour, -time.Hour, -300 * 24 * time.Hour} {
		s := start(t, bedrocktest.Text("a"), bedrocktest.Text("b"))
		s.Ahead = ahead
		theirs := bedrockruntime.NewFromConfig(bedrocktest.Config(), func(o *bedrockruntime.Options) {
			o.BaseEndpoint, o.HTTPClient, o.Retryer = aws.String(s.URL), s.Client(), quick{o.Retryer}
		})
		if _, err := stream(t, theirs); err != nil {
			t.Fatal(err)
		}
		n := len(s.Asked())
		if r := modeltest.Call(t.Context(), ours(t, s, sonnet), &model.Request{Messages: hello()}); r.Err != nil || len(s.Asked()) != 2*n {
			t.Errorf("a clock that is off by %v: %v after %d requests, AWS's client: %d", ahead, r.Err, len(s.Asked())-n, n)
		}
	}
}

// addressed is a transport that keeps the request and answers nothing.
type addressed struct{ last *http.Request }

func (a *addressed) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r
	return nil, errors.New("nobody is there")
}

// fips and dual are sources of a configuration.
type fips struct{}

func (fips) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	return aws.FIPSEndpointStateEnabled, true, nil
}

type dual struct{}

func (dual) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	return aws.DualStackEndpointStateEnabled, true, nil
}

// Every region of every partition is asked at AWS's own address, by the same path, signed for
// the same region.
func TestAddresses(t *testing.T) {
	t.Parallel()
	ids := []string{
		pro, scout, "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a_b-c.d",
		"arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.nova-pro-v1:0",
	}
	regions := []string{
		"us-east-1", "us-west-2", "eu-central-2", "ap-southeast-7", "sa-east-1", "ca-west-1", "me-central-1", "af-south-1", "il-central-1", "mx-central-1",
		"us-gov-west-1", "us-gov-east-1", "cn-north-1", "cn-northwest-1", "eusc-de-east-1", "us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1",
		"us-isof-south-1", "xx-nowhere-1", "fips-us-gov-west-1", "us-east-1-fips",
	}
	for _, region := range regions {
		plain := strings.TrimSuffix(strings.TrimPrefix(region, "fips-"), "-fips")
		for _, sources := range [][]any{nil, {fips{}}, {dual{}}, {fips{}, dual{}}} {
			for _, base := range []string{"", "https://vpce.example.com/a/b/"} {
				if base != "" && (sources != nil || strings.Contains(region, "fips")) {
					continue // both refuse it
				}
				for _, id := range ids {
					cfg := bedrocktest.Config()
					cfg.Region, cfg.ConfigSources = region, sources
					if base != "" {
						cfg.BaseEndpoint = aws.String(base)
					}
					theirs, mine := &addressed{}, &addressed{}
					_, _ = bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) {
						o.HTTPClient, o.Retryer = &http.Client{Transport: theirs}, aws.NopRetryer{}
					}).ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{ModelId: aws.String(id), Messages: said()})
					m, err := bedrock.New(id, cfg, bedrock.HTTPClient(&http.Client{Transport: mine}))
					if err != nil {
						t.Errorf("%s %v %s: %v", region, sources, base, err)
						continue
					}
					_ = modeltest.Call(t.Context(), m, &model.Request{Messages: hello()})
					// AWS's client signs for the old names of regions as they stand, which no service has.
					got, want := described(mine.last), strings.ReplaceAll(described(theirs.last), "/"+region+"/", "/"+plain+"/")
					if got != want {
						t.Errorf("%s %v: %s, AWS's client: %s", region, sources, got, want)
					}
				}
			}
		}
	}
}

// described is where a request goes, and for which region and service it is signed.
func described(r *http.Request) string {
	if r == nil {
		return "nothing"
	}
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/")
	return r.Method + " " + r.URL.String() + " " + strings.Join(slices.Delete(parts, 1, min(2, len(parts))), "/")
}
