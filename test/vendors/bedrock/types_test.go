package bedrock_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/schemas"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

var protocol = restjson1.New(schemas.AmazonBedrockFrontendService)

// parse reads JSON into what AWS's types make of a schema.
func parse(t *testing.T, data []byte, s *smithy.Schema, into smithy.Deserializable) {
	t.Helper()
	resp := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(data)))}}
	op := smithy.NewOperationSchema(schemas.Converse, schemas.ConverseRequest, s)
	if err := protocol.DeserializeResponse(t.Context(), op, bedrockruntime.TypeRegistry, resp, into); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
}

// written is a request of AWS's client in its own JSON.
func written(t *testing.T, operation, s *smithy.Schema, in smithy.Serializable) []byte {
	t.Helper()
	req, ok := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if !ok {
		t.Fatal("no request")
	}
	if err := protocol.SerializeRequest(t.Context(), smithy.NewOperationSchema(operation, s, schemas.ConverseResponse), in, req); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(req.GetStream())
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// rest reads the members of a request that CountTokens does not have.
type rest struct {
	in bedrockruntime.ConverseStreamInput
}

func (r *rest) Deserialize(d smithy.ShapeDeserializer) error {
	return smithy.ReadStruct(d, schemas.ConverseStreamRequest, func(s *smithy.Schema) error {
		switch s {
		case schemas.ConverseStreamRequest_inferenceConfig:
			r.in.InferenceConfig = &types.InferenceConfiguration{}
			return r.in.InferenceConfig.Deserialize(d)
		case schemas.ConverseStreamRequest_guardrailConfig:
			r.in.GuardrailConfig = &types.GuardrailStreamConfiguration{}
			return r.in.GuardrailConfig.Deserialize(d)
		case schemas.ConverseStreamRequest_outputConfig:
			r.in.OutputConfig = &types.OutputConfig{}
			return r.in.OutputConfig.Deserialize(d)
		case schemas.ConverseStreamRequest_performanceConfig:
			r.in.PerformanceConfig = &types.PerformanceConfiguration{}
			return r.in.PerformanceConfig.Deserialize(d)
		case schemas.ConverseStreamRequest_serviceTier:
			r.in.ServiceTier = &types.ServiceTier{}
			return r.in.ServiceTier.Deserialize(d)
		case schemas.ConverseStreamRequest_requestMetadata:
			r.in.RequestMetadata = map[string]string{}
			return smithy.ReadMap(d, s, func(k string) error {
				var v string
				err := d.ReadString(s.MapValue(), &v)
				r.in.RequestMetadata[k] = v
				return err
			})
		}
		return fmt.Errorf("nobody reads %v", s)
	})
}

// same reports what AWS's types lose of a body.
func same(t *testing.T, name string, body []byte) {
	t.Helper()
	var counted, others map[string]json.RawMessage
	if json.Unmarshal(body, &counted) != nil || json.Unmarshal(body, &others) != nil {
		t.Fatalf("%s: no JSON: %s", name, body)
	}
	for member := range counted {
		if slices.Contains([]string{"messages", "system", "toolConfig", "additionalModelRequestFields"}, member) {
			delete(others, member)
		} else {
			delete(counted, member)
		}
	}
	var some types.ConverseTokensRequest
	parse(t, object(t, counted), schemas.ConverseTokensRequest, &some)
	var more rest
	parse(t, object(t, others), schemas.ConverseStreamRequest, &more)
	in := more.in
	in.ModelId = aws.String("x")
	in.Messages, in.System, in.ToolConfig, in.AdditionalModelRequestFields = some.Messages, some.System, some.ToolConfig, some.AdditionalModelRequestFields
	compare(t, name, body, written(t, schemas.ConverseStream, schemas.ConverseStreamRequest, &in))
}

func object(t *testing.T, members map[string]json.RawMessage) []byte {
	t.Helper()
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compare(t *testing.T, name string, ours, theirs []byte) {
	t.Helper()
	var want, got any
	if json.Unmarshal(ours, &want) != nil || json.Unmarshal(theirs, &got) != nil {
		t.Fatalf("%s: no JSON: %s", name, theirs)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\nours   %s\ntheirs %s", name, ours, theirs)
	}
}

// AWS's types read every request of ours and write the same again: nothing in it is unknown to
// the API's description.
func TestRequests(t *testing.T) {
	t.Parallel()
	half, most := 0.5, 1.0
	add := model.ToolSpec{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)}
	strict := add
	strict.Strict = true
	output := &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	for name, c := range map[string]struct {
		model string
		opts  []bedrock.Option
		req   model.Request
	}{
		"all of inference": {scout, nil, model.Request{Options: model.Options{MaxTokens: 7, Temperature: &half, TopP: &most, StopWords: []string{"a", "b"}}}},
		"cache":            {sonnet, []bedrock.Option{bedrock.Cache(bedrock.CacheHour)}, model.Request{Instructions: "x", Tools: []model.ToolSpec{add}}},
		"cached tools":     {sonnet, nil, model.Request{Tools: []model.ToolSpec{add}}},
		"strict":           {sonnet, nil, model.Request{Tools: []model.ToolSpec{strict}, ToolChoice: model.ToolChoice{Mode: model.ToolsAny}}},
		"one tool":         {sonnet, nil, model.Request{Tools: []model.ToolSpec{add}, ToolChoice: model.ToolChoice{Mode: model.ToolsOne, Tool: "add"}}},
		"server tools": {nova, nil, model.Request{Tools: []model.ToolSpec{add}, Options: model.Options{
			Effort: "medium", ServerTools: []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.CodeExecution}},
		}}},
		"effort":   {latest, nil, model.Request{Options: model.Options{Effort: "max", ShowThinking: true}}},
		"a form":   {latest, nil, model.Request{Output: output, Options: model.Options{Effort: "low"}}},
		"gpt-oss":  {oss, nil, model.Request{Options: model.Options{Effort: "high", Extra: map[string]json.RawMessage{"x": json.RawMessage(`[1,{"a":null}]`)}}}},
		"a budget": {sonnet, []bedrock.Option{bedrock.Fields(json.RawMessage(`{"top_k":5}`))}, model.Request{Options: model.Options{Thinking: 2000}}},
		"the rest": {pro, []bedrock.Option{
			bedrock.Guard(bedrock.Guardrail{ID: "g", Version: "1", Latest: true, Async: true}), bedrock.Metadata(map[string]string{"a": "b"}), bedrock.Latency("optimized"),
		}, model.Request{Options: model.Options{ServiceTier: "flex"}}},
	} {
		c.req.Messages = hello()
		s := start(t, bedrocktest.Text("Hello."), bedrocktest.Counted(1))
		m := ours(t, s, c.model, append(c.opts, bedrock.Answers(bedrock.Stream))...)
		if r := modeltest.Call(t.Context(), m, &c.req); r.Err != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
		same(t, name, s.Asked()[0].Body)
		if !strings.Contains(c.model, "anthropic") {
			continue
		}
		if _, err := m.CountTokens(t.Context(), &c.req); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var asked struct {
			Input struct {
				Converse json.RawMessage `json:"converse"`
			} `json:"input"`
		}
		if err := json.Unmarshal(s.Asked()[1].Body, &asked); err != nil {
			t.Fatal(err)
		}
		var value types.ConverseTokensRequest
		parse(t, asked.Input.Converse, schemas.ConverseTokensRequest, &value)
		compare(t, name+", counted", s.Asked()[1].Body, written(t, schemas.CountTokens, schemas.CountTokensRequest, &bedrockruntime.CountTokensInput{
			ModelId: aws.String("x"), Input: &types.CountTokensInputMemberConverse{Value: value},
		}))
	}
}

// The same of histories.
func TestHistories(t *testing.T) {
	t.Parallel()
	user := func(b ...event.Block) event.Message { return event.Message{Role: event.RoleUser, Content: b} }
	list := modeltest.Histories()
	list["films"] = []event.Message{user(&event.Media{Media: "video", URL: "s3://b/a.mp4"}, &event.Image{URL: "s3://b/a.png"},
		&event.Document{Name: "x", URL: "s3://b/a.pdf"}, &event.Text{Text: "See."})}
	list["a server's tool"] = []event.Message{
		user(&event.Text{Text: "q"}),
		{Role: event.RoleAssistant, Content: []event.Block{
			&event.UnknownBlock{Name: "bedrock.toolUse", Raw: json.RawMessage(`{"kind":"bedrock.toolUse","toolUse":{"input":{"q":"x"},"name":"nova_grounding","toolUseId":"s1","type":"server_tool_use"}}`)},
			&event.UnknownBlock{Name: "bedrock.toolResult", Raw: json.RawMessage(`{"kind":"bedrock.toolResult","toolResult":{"content":[{"text":"f"},{"json":{"n":1}}],"status":"success","toolUseId":"s1","type":"nova_grounding_result"}}`)},
			&event.Text{Text: "a"},
		}},
		user(&event.Text{Text: "q"}),
	}
	tools := []model.ToolSpec{{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	for _, id := range []string{sonnet, nova, scout} {
		for name, messages := range list {
			if name == "films" && id != nova {
				continue
			}
			s := start(t)
			// Whether the stand-in takes a history is another test's: it has not given the signatures.
			_ = modeltest.Call(t.Context(), ours(t, s, id), &model.Request{Instructions: "x", Messages: messages, Tools: tools})
			asked := s.Asked()
			if len(asked) == 0 {
				t.Fatalf("%s, %s: nothing is asked", id, name)
			}
			same(t, id+", "+name, asked[len(asked)-1].Body)
		}
	}
}
