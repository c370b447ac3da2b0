package bedrock_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

const (
	sonnet46 = "us.anthropic.claude-sonnet-4-6"
	opus47   = "us.anthropic.claude-opus-4-7"
	opus5    = "us.anthropic.claude-opus-5"
	opus55   = "us.anthropic.claude-opus-5-5"
	haiku55  = "us.anthropic.claude-haiku-5-5"
	fable51  = "us.anthropic.claude-fable-5-1"
	sonnet37 = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
	oss      = "openai.gpt-oss-120b-1:0"
	r1       = "us.deepseek.r1-v1:0"
	premier  = "us.amazon.nova-premier-v1:0"
)

// Each option as it is sent to each model. The stand-in accepts it.
func TestEffort(t *testing.T) {
	t.Parallel()
	const unsupported = "unsupported"
	for _, c := range []struct {
		model  string
		effort model.Effort
		show   bool
		want   string // additionalModelRequestFields
	}{
		{sonnet, "low", false, `{"thinking":{"type":"enabled","budget_tokens":2048}}`},
		{sonnet, "medium", false, `{"thinking":{"type":"enabled","budget_tokens":8192}}`},
		{sonnet37, "high", true, `{"thinking":{"type":"enabled","budget_tokens":16384}}`},
		{sonnet, "max", false, `{"thinking":{"type":"enabled","budget_tokens":23552}}`},
		{sonnet, "none", true, ``},
		{sonnet, "xhigh", false, unsupported},
		{sonnet46, "low", false, `{"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}`},
		{sonnet46, "max", true, `{"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}`},
		{sonnet46, "xhigh", false, unsupported},
		{sonnet46, "none", true, ``},
		{sonnet46, "", true, ``},
		{opus47, "xhigh", true, `{"output_config":{"effort":"xhigh"},"thinking":{"type":"adaptive","display":"summarized"}}`},
		{opus47, "", true, ``},
		{opus47, "minimal", false, unsupported},
		{opus5, "none", true, `{"thinking":{"type":"disabled"}}`},
		{opus5, "", true, `{"thinking":{"type":"adaptive","display":"summarized"}}`},
		{opus5, "", false, ``},
		{latest, "none", false, `{"thinking":{"type":"between_tools"}}`},
		{latest, "medium", true, `{"output_config":{"effort":"medium"},"thinking":{"type":"adaptive","display":"summarized"}}`},
		{haiku55, "none", false, `{"thinking":{"type":"disabled"}}`},
		{opus55, "none", false, unsupported},
		{fable51, "none", false, unsupported},
		{fable51, "max", false, `{"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}`},
		{nova2, "low", true, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}}`},
		{nova2, "max", false, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}}`},
		{nova2, "none", false, ``},
		{nova2, "xhigh", false, unsupported},
		{pro, "low", false, unsupported},
		{pro, "none", false, ``},
		{oss, "high", false, `{"reasoning_effort":"high"}`},
		{oss, "max", false, `{"reasoning_effort":"high"}`},
		{oss, "none", false, unsupported},
		{qwen, "low", false, unsupported},
		{qwen, "none", false, unsupported},
		{r1, "none", false, unsupported},
		{scout, "none", false, ``},
		{scout, "", true, ``},
	} {
		m, server := open(t, c.model, nil, bedrocktest.Text("Hello."))
		req := hello()
		req.Options = model.Options{Effort: c.effort, ShowThinking: c.show}
		err := modeltest.Call(t.Context(), m, req).Err
		if c.want == unsupported {
			if event.KindOf(err) != event.ErrUnsupported || event.KindOf(m.Check(req)) != event.ErrUnsupported || len(server.Asked()) != 0 {
				t.Errorf("%s %s: %v", c.model, c.effort, err)
			}
			continue
		}
		if err != nil || m.Check(req) != nil {
			t.Errorf("%s %s: %v", c.model, c.effort, err)
			continue
		}
		var sent struct {
			Fields json.RawMessage `json:"additionalModelRequestFields"`
		}
		if err := json.Unmarshal(server.Asked()[0].Body, &sent); err != nil || string(sent.Fields) != c.want {
			t.Errorf("%s %s: %s, want %s", c.model, c.effort, sent.Fields, c.want)
		}
	}
}

// Any settings are either refused by Check and Stream alike before a request is sent, or accepted
// by the API.
func TestSettingsAreRefusedOrTaken(t *testing.T) {
	t.Parallel()
	models := []string{
		sonnet, opus, sonnet37, sonnet46, opus47, opus5, latest, opus55, haiku55, fable51, pro, nova2, premier, qwen, scout, oss,
		"anthropic.claude-3-haiku-20240307-v1:0", "amazon.titan-text-express-v1", "cohere.command-r-v1:0", r1,
	}
	servers := map[string]*bedrocktest.Server{}
	made := map[string]*bedrock.Model{}
	for _, name := range models {
		made[name], servers[name] = open(t, name, nil)
	}
	taken, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(models).Draw(t, "model")
		number := func(label string, of ...float64) *float64 {
			f := rapid.SampledFrom(append(of, -1)).Draw(t, label)
			if f < 0 {
				return nil
			}
			return &f
		}
		req := hello()
		req.Options = model.Options{
			Effort:       model.Effort(rapid.SampledFrom([]string{"", "", "none", "minimal", "low", "medium", "high", "xhigh", "max"}).Draw(t, "effort")),
			Thinking:     rapid.SampledFrom([]int{0, 0, 1, 5000, 50_000}).Draw(t, "thinking"),
			MaxTokens:    rapid.SampledFrom([]int{0, 0, 0, 500, 4000, 60_000}).Draw(t, "most"),
			ShowThinking: rapid.Bool().Draw(t, "show"),
			TopP:         number("top_p", 0.5, 0.97, 1),
			ServiceTier:  rapid.SampledFrom([]string{"", "flex", "optimized", "gold"}).Draw(t, "tier"),
		}
		// Only without thinking: with it, the vendor decides which temperatures it takes.
		if rapid.Bool().Draw(t, "temperature") && req.Options.Effort == "" && req.Options.Thinking == 0 && !req.Options.ShowThinking {
			req.Options.Temperature = number("heat", 0, 1)
		}
		if rapid.Bool().Draw(t, "tools") {
			req.Tools = []model.ToolSpec{{
				Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}`), Strict: rapid.Bool().Draw(t, "strict"),
			}}
			req.ToolChoice.Mode = rapid.SampledFrom([]model.ToolMode{model.ToolsFree, model.ToolsFree, model.ToolsAny, model.ToolsNone}).Draw(t, "choice")
		}
		if rapid.IntRange(0, 3).Draw(t, "served") == 0 {
			req.Options.ServerTools = []model.ServerTool{{Kind: rapid.SampledFrom([]model.ServerToolKind{model.WebSearch, model.CodeExecution, model.WebFetch}).Draw(t, "kind")}}
		}
		if rapid.IntRange(0, 3).Draw(t, "output") == 0 && made[name].Info().Output {
			req.Output = &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
		}
		m, server := made[name], servers[name]
		before := len(server.Asked())
		answer := bedrocktest.Text("Hello.")
		if name == scout && len(req.Tools) > 0 {
			answer = bedrocktest.Whole(nil, "end_turn", event.Usage{})
		}
		checked := m.Check(req)
		if checked != nil {
			err := modeltest.Call(t.Context(), m, req).Err
			if event.KindOf(err) != event.KindOf(checked) || len(server.Asked()) != before {
				t.Fatalf("%s %+v: checked %v, streamed %v", name, req.Options, checked, err)
			}
			if k := event.KindOf(checked); k != event.ErrUnsupported && k != event.ErrInvalid {
				t.Fatalf("%s %+v: %v", name, req.Options, checked)
			}
			refused++
			return
		}
		server.Add(answer)
		if err := modeltest.Call(t.Context(), m, req).Err; err != nil {
			asked := server.Asked()
			t.Fatalf("%s %+v choice %s: %v\n%s\n%s", name, req.Options, req.ToolChoice.Mode, err, asked[len(asked)-1].Refused, asked[len(asked)-1].Body)
		}
		taken++
	})
	if !race.On && (taken < 10 || refused < 10) { // the race detector allows only few draws
		t.Errorf("%d taken, %d refused", taken, refused)
	}
}

func TestOptionsThatConverseDoesNotHave(t *testing.T) {
	t.Parallel()
	one, half := int64(1), 0.5
	two := 2.0
	for name, c := range map[string]struct {
		model string
		o     model.Options
		want  event.ErrorKind
	}{
		"a seed":                    {pro, model.Options{Seed: &one}, event.ErrUnsupported},
		"verbosity":                 {pro, model.Options{Verbosity: "low"}, event.ErrUnsupported},
		"context":                   {sonnet, model.Options{Context: model.ContextManagement{Truncate: true}}, event.ErrUnsupported},
		"top_p of two":              {pro, model.Options{TopP: &two}, event.ErrInvalid},
		"top_p for Claude 4.7":      {opus47, model.Options{TopP: &half}, event.ErrUnsupported},
		"top_p with a temperature":  {sonnet, model.Options{TopP: &half, Temperature: &half}, event.ErrUnsupported},
		"top_p with thinking":       {sonnet, model.Options{TopP: &half, Thinking: 2000}, event.ErrUnsupported},
		"top_p with much reasoning": {nova2, model.Options{TopP: &half, Effort: "high"}, event.ErrUnsupported},
		"a tier":                    {pro, model.Options{ServiceTier: "gold"}, event.ErrUnsupported},
		"an effort in few tokens":   {sonnet, model.Options{Effort: "low", MaxTokens: 1000}, event.ErrInvalid},
		"a header of ours":          {pro, model.Options{Headers: map[string]string{"x-amz-date": "now"}}, event.ErrInvalid},
		"a credential":              {pro, model.Options{Headers: map[string]string{"authorization": "Bearer x"}}, event.ErrInvalid},
		"two lines":                 {pro, model.Options{Headers: map[string]string{"X-A": "1\r\nX-B: 2"}}, event.ErrInvalid},
		"a member of ours":          {sonnet, model.Options{Extra: map[string]json.RawMessage{"thinking": json.RawMessage("{}")}}, event.ErrInvalid},
		"no JSON":                   {sonnet, model.Options{Extra: map[string]json.RawMessage{"top_k": json.RawMessage("5,")}}, event.ErrInvalid},
		"a file search":             {nova2, model.Options{ServerTools: []model.ServerTool{{Kind: model.FileSearch}}}, event.ErrUnsupported},
		"a search by Claude":        {sonnet, model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch}}}, event.ErrUnsupported},
		"code by Nova Premier":      {premier, model.Options{ServerTools: []model.ServerTool{{Kind: model.CodeExecution}}}, event.ErrUnsupported},
		"a search of some hosts":    {nova2, model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch, Domains: []string{"e.com"}}}}, event.ErrUnsupported},
		"a search, twice":           {nova2, model.Options{ServerTools: []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.WebSearch}}}, event.ErrInvalid},
	} {
		m, server := open(t, c.model, nil)
		req := hello()
		req.Options = c.o
		for _, err := range []error{m.Check(req), modeltest.Call(t.Context(), m, req).Err} {
			e := failed(t, modeltest.Read{Err: err})
			if e.Kind != c.want || e.Hint == "" || len(server.Asked()) != 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Extra fields are added to the model's own parameters, and extra headers are signed.
func TestMembersAndHeadersThatAreAdded(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, []bedrock.Option{bedrock.Fields(json.RawMessage(`{"top_k":5,"anthropic_beta":["a"]}`))}, bedrocktest.Text("Hello."))
	req := hello()
	req.Options = model.Options{
		Thinking: 2000, Extra: map[string]json.RawMessage{"top_k": json.RawMessage(`7`)}, Headers: map[string]string{"x-amzn-bedrock-trace": "ENABLED", "X-Team": "a"},
	}
	if err := modeltest.Call(t.Context(), m, req).Err; err != nil {
		t.Fatal(err)
	}
	asked := server.Asked()[0]
	want := `"additionalModelRequestFields":{"anthropic_beta":["a"],"thinking":{"type":"enabled","budget_tokens":2000},"top_k":7}`
	if !bytes.Contains(asked.Body, []byte(want)) || asked.Header.Get("X-Team") != "a" || asked.Header.Get("X-Amzn-Bedrock-Trace") != "ENABLED" {
		t.Errorf("%v %s", asked.Header, asked.Body)
	}
	if !strings.Contains(asked.Header.Get("Authorization"), ";x-amzn-bedrock-trace;x-team,") {
		t.Error(asked.Header.Get("Authorization"))
	}
	server.Add(bedrocktest.Text("Hello."))
	req.Options = model.Options{Extra: map[string]json.RawMessage{"b": nil}}
	if err := m.Check(req); event.KindOf(err) != event.ErrInvalid {
		t.Error(err)
	}
}

// A request's service tier takes precedence over the model's. One value is sent in another member.
func TestServiceTier(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts []bedrock.Option
		tier string
		want string
	}{
		{nil, "priority", `,"serviceTier":{"type":"priority"}}`},
		{[]bedrock.Option{bedrock.Tier("flex")}, "", `,"serviceTier":{"type":"flex"}}`},
		{[]bedrock.Option{bedrock.Tier("flex")}, "reserved", `,"serviceTier":{"type":"reserved"}}`},
		{[]bedrock.Option{bedrock.Tier("flex")}, "optimized", `,"performanceConfig":{"latency":"optimized"},"serviceTier":{"type":"flex"}}`},
	} {
		m, server := open(t, pro, c.opts, bedrocktest.Text("Hello."))
		req := hello()
		req.Options.ServiceTier = c.tier
		if err := modeltest.Call(t.Context(), m, req).Err; err != nil || !strings.HasSuffix(string(server.Asked()[0].Body), c.want) {
			t.Errorf("%s: %v %s", c.tier, err, server.Asked()[0].Body)
		}
	}
}

// Converse has one member for effort and for the form of an answer.
func TestEffortAndAForm(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet46, nil, bedrocktest.Text("{}"))
	req := hello()
	req.Options.Effort = "high"
	req.Output = &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	if err := modeltest.Call(t.Context(), m, req).Err; err != nil {
		t.Fatal(err)
	}
	body := string(server.Asked()[0].Body)
	if !strings.Contains(body, `"outputConfig":{"effort":"high","textFormat":`) || strings.Contains(body, "output_config") {
		t.Error(body)
	}
}

func TestStrictTools(t *testing.T) {
	t.Parallel()
	tool := func(schema string) []model.ToolSpec {
		return []model.ToolSpec{{Name: "add", Schema: json.RawMessage(schema), Strict: true}}
	}
	m, server := open(t, sonnet, nil, bedrocktest.Text("Hello."))
	req := hello()
	req.Tools = tool(`{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"]}`)
	if err := modeltest.Call(t.Context(), m, req).Err; err != nil {
		t.Fatal(err)
	}
	body := string(server.Asked()[0].Body)
	if !strings.Contains(body, `"inputSchema":{"json":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}},"strict":true}`) ||
		!strings.Contains(body, "minimum") { // the description has what the schema cannot express
		t.Error(body)
	}
	many := slices.Repeat(tool(`{"type":"object"}`), 21)
	for i := range many {
		many[i].Name = fmt.Sprint("t", i)
	}
	for name, c := range map[string]struct {
		model string
		tools []model.ToolSpec
	}{
		"a schema that refers to itself": {sonnet, tool(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)},
		"a model without":                {pro, tool(`{"type":"object"}`)},
		"an old Claude":                  {sonnet37, tool(`{"type":"object"}`)},
		"too many":                       {sonnet, many},
		"no object":                      {sonnet, tool(`{"type":"string"}`)},
	} {
		m, server := open(t, c.model, nil)
		req := hello()
		req.Tools = c.tools
		for _, err := range []error{m.Check(req), modeltest.Call(t.Context(), m, req).Err} {
			if event.KindOf(err) != event.ErrUnsupported || len(server.Asked()) != 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Nova's own tools are requested together with the agent's. Their results are sent back to Nova and
// to no other model.
func TestServerTools(t *testing.T) {
	t.Parallel()
	searched := bedrocktest.Answer{Body: bedrocktest.Begun(nil) +
		bedrocktest.Event("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s1","name":"nova_grounding","type":"server_tool_use"}}}`) +
		bedrocktest.Event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"query\":\"x\"}"}}}`) +
		bedrocktest.Event("contentBlockStop", `{"contentBlockIndex":0}`) +
		bedrocktest.Event("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"s1","type":"nova_grounding_result","status":"success"}}}`) +
		bedrocktest.Event("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolResult":[{"text":"found"}]}}`) +
		bedrocktest.Event("contentBlockStop", `{"contentBlockIndex":1}`) +
		bedrocktest.Event("contentBlockDelta", `{"contentBlockIndex":2,"delta":{"text":"It is."}}`) +
		bedrocktest.Event("contentBlockDelta", `{"contentBlockIndex":2,"delta":{"citation":{"title":"E","location":{"web":{"url":"https://e.com","domain":"e.com"}}}}}`) +
		bedrocktest.Event("contentBlockStop", `{"contentBlockIndex":2}`) + bedrocktest.Stopped("end_turn") + bedrocktest.Metadata(nil, event.Usage{})}
	m, server := open(t, nova2, nil, searched, bedrocktest.Text("a"), bedrocktest.Text("b"))
	req := hello()
	req.Tools = []model.ToolSpec{{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	req.Options.ServerTools = []model.ServerTool{{Kind: model.WebSearch}, {Kind: model.CodeExecution}}
	read := modeltest.Call(t.Context(), m, req)
	if read.Err != nil {
		t.Fatal(read.Err)
	}
	if body := string(server.Asked()[0].Body); !strings.Contains(body, `}}},{"systemTool":{"name":"nova_grounding"}},{"systemTool":{"name":"nova_code_interpreter"}}]},`) {
		t.Error(body)
	}
	kinds := []string{}
	for _, b := range read.Content {
		kinds = append(kinds, string(b.BlockKind()))
	}
	if !slices.Equal(kinds, []string{"bedrock.toolUse", "bedrock.toolResult", "text", "citation"}) || read.Stop != event.StopEndTurn {
		t.Errorf("%v %s", kinds, read.Stop)
	}
	history := append(hello().Messages, event.Message{Role: event.RoleAssistant, Content: read.Content}, hello().Messages[0])
	for name, o := range map[string]model.Options{"asked again": req.Options, "not asked any more": {}} {
		if err := modeltest.Call(t.Context(), m, &model.Request{Messages: history, Options: o}).Err; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if body := string(server.Asked()[1].Body); !strings.Contains(body, `"type":"server_tool_use"`) {
		t.Error(body)
	}
	claude, other := open(t, sonnet, nil, bedrocktest.Text("c"))
	if err := modeltest.Call(t.Context(), claude, &model.Request{Messages: history}).Err; err != nil || bytes.Contains(other.Asked()[0].Body, []byte("s1")) {
		t.Errorf("%v %s", err, other.Asked()[0].Body)
	}
	// If the model must not call tools, the vendor's tools are not requested either.
	server.Add(bedrocktest.Text("d"))
	req.ToolChoice.Mode = model.ToolsNone
	if err := modeltest.Call(t.Context(), m, req).Err; err != nil || bytes.Contains(server.Asked()[3].Body, []byte("systemTool")) {
		t.Errorf("%v %s", err, server.Asked()[3].Body)
	}
}

// Office files are recognised by MIME type and by name.
func TestOfficeFiles(t *testing.T) {
	t.Parallel()
	const office = "application/vnd.openxmlformats-officedocument."
	for _, c := range []struct {
		doc  event.Document
		want string
	}{
		{event.Document{Name: "a.docx"}, "docx"},
		{event.Document{Name: "a.XLSX"}, "xlsx"},
		{event.Document{Name: "a.doc"}, "doc"},
		{event.Document{Name: "a.xls"}, "xls"},
		{event.Document{Name: "a.docx", MIME: "application/octet-stream"}, "docx"},
		{event.Document{MIME: office + "wordprocessingml.document"}, "docx"},
		{event.Document{Name: "a.bin", MIME: office + "spreadsheetml.sheet"}, "xlsx"},
		{event.Document{Name: "a.md"}, "md"},
	} {
		c.doc.Data = []byte("PK")
		for _, name := range []string{sonnet, pro} {
			m, server := open(t, name, nil, bedrocktest.Text("Hello."))
			req := hello()
			req.Messages[0].Content = append(req.Messages[0].Content, &c.doc)
			if err := modeltest.Call(t.Context(), m, req).Err; err != nil || !bytes.Contains(server.Asked()[0].Body, []byte(`"document":{"format":"`+c.want+`"`)) {
				t.Errorf("%s %+v: %v", name, c.doc, err)
			}
		}
	}
	m, server := open(t, pro, nil, bedrocktest.Text("Hello."))
	req := hello()
	req.Messages[0].Content = append(req.Messages[0].Content, &event.Document{URL: "s3://bucket/dir/plan.xlsx"})
	if err := modeltest.Call(t.Context(), m, req).Err; err != nil ||
		!bytes.Contains(server.Asked()[0].Body, []byte(`"document":{"format":"xlsx","name":"document","source":{"s3Location":{"uri":"s3://bucket/dir/plan.xlsx"}}}`)) {
		t.Errorf("%v %s", err, server.Asked()[0].Body)
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, nil, bedrocktest.Counted(4711), bedrocktest.Text("Hello."))
	req := hello()
	req.Instructions = "Be brief."
	req.Tools = []model.ToolSpec{{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	req.Options = model.Options{Thinking: 2000, MaxTokens: 9000, StopWords: []string{"x"}}
	n, err := model.Count(t.Context(), m, req)
	if n != 4711 || err != nil {
		t.Fatal(n, err)
	}
	if err := modeltest.Call(t.Context(), m, req).Err; err != nil {
		t.Fatal(err)
	}
	asked := server.Asked()
	if asked[0].Path != "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens" {
		t.Error(asked[0].Path)
	}
	// CountTokens sends the same request as Stream.
	var counted struct {
		Input struct {
			Converse map[string]json.RawMessage `json:"converse"`
		} `json:"input"`
	}
	var sent map[string]json.RawMessage
	if json.Unmarshal(asked[0].Body, &counted) != nil || json.Unmarshal(asked[1].Body, &sent) != nil {
		t.Fatalf("%s\n%s", asked[0].Body, asked[1].Body)
	}
	for name, value := range counted.Input.Converse {
		if !bytes.Equal(value, sent[name]) {
			t.Errorf("%s: %s, sent %s", name, value, sent[name])
		}
	}
	if len(counted.Input.Converse) != 4 {
		t.Errorf("%s", asked[0].Body)
	}
	for name, c := range map[string]struct {
		model  string
		answer bedrocktest.Answer
		want   event.ErrorKind
	}{
		"Nova":         {pro, bedrocktest.Answer{}, event.ErrUnsupported},
		"Llama":        {scout, bedrocktest.Answer{}, event.ErrUnsupported},
		"throttled":    {sonnet, bedrocktest.Error(429, "ThrottlingException", "Too many requests"), event.ErrThrottled},
		"too long":     {sonnet, bedrocktest.Error(400, "ValidationException", "prompt is too long: 5 tokens > 4 maximum"), event.ErrContextOverflow},
		"a page":       {sonnet, bedrocktest.Answer{Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>"}, event.ErrModel},
		"nothing":      {sonnet, bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{}`}, event.ErrModel},
		"less":         {sonnet, bedrocktest.Counted(-1), event.ErrModel},
		"half of it":   {sonnet, bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"inputTokens":`}, event.ErrStreamCut},
		"no number":    {sonnet, bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"inputTokens":"1"}`}, event.ErrStreamCut},
		"a cut answer": {sonnet, bedrocktest.Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{"inputTokens":1}`, Cut: 3}, event.ErrStreamCut},
	} {
		m, _ := open(t, c.model, nil, c.answer)
		if n, err := model.Count(t.Context(), m, hello()); n != 0 || event.KindOf(err) != c.want {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	named, err := bedrock.New("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", bedrocktest.Config(),
		bedrock.As(sonnet), bedrock.BaseURL(server.URL), bedrock.HTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	server.Add(bedrocktest.Counted(7))
	if n, err := model.Count(t.Context(), named, hello()); n != 7 || err != nil {
		t.Error(n, err)
	}
	if model.Files(m) != nil {
		t.Error("it keeps no files")
	}
}

// Only models with a one-hour cache get that setting.
func TestAnHourOfCache(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]event.ErrorKind{sonnet: "", latest: "", sonnet37: event.ErrUnsupported, pro: event.ErrUnsupported, scout: ""} {
		server := bedrocktest.Start(bedrocktest.Text("Hello."))
		t.Cleanup(server.Close)
		m, err := bedrock.New(name, bedrocktest.Config(), bedrock.Cache(bedrock.CacheHour), bedrock.BaseURL(server.URL), bedrock.HTTPClient(server.Client()))
		if event.KindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if err := modeltest.Call(t.Context(), m, hello()).Err; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
