package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	namedTest = regexp.MustCompile("`(Test\\w+)`")
)

// The page that says what of Strands Agents is here names tests that there are, each of its
// rows names one or says why there is none, and nothing that Strands has is missing.
func TestTheStrandsPageNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	err := filepath.WalkDir(top(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range testFunc.FindAllSubmatch(src, -1) {
				have[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, complaints := 0, 0
	var theirs strings.Builder
	for line := range strings.Lines(read(t, "docs/guide/strands.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[3]) == "held by" {
			continue
		}
		rows++
		theirs.WriteString(cells[1] + "\n")
		if regexp.MustCompile(`^ \d+\. `).MatchString(cells[1]) {
			complaints++
		}
		named := namedTest.FindAllStringSubmatch(cells[3], -1)
		for _, m := range named {
			if !have[m[1]] {
				t.Errorf("there is no test %s, which the row %q names", m[1], strings.TrimSpace(cells[1]))
			}
		}
		if len(named) == 0 && !strings.HasPrefix(cells[2], " left out") && !strings.HasPrefix(cells[2], " later") {
			t.Errorf("the row %q names no test and does not say why", strings.TrimSpace(cells[1]))
		}
	}
	for section, words := range strandsHas {
		for word := range strings.FieldsSeq(words) {
			if word = strings.ReplaceAll(word, "_of_", " "); !standsIn(theirs.String(), word) {
				t.Errorf("no row is about %q, which Strands has (%s)", word, section)
			}
		}
	}
	if rows < 390 || complaints != 15 {
		t.Errorf("the page has %d rows, %d of them complaints", rows, complaints)
	}
}

// standsIn reports whether a word stands in a text as a word of its own.
func standsIn(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		before, behind := text[:i], text[i+len(word):]
		if !strings.HasSuffix(before, "_") && (i == 0 || !isWord(before[i-1])) && (behind == "" || !isWord(behind[0])) {
			return true
		}
		text = behind
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// strandsHas lists what Strands Agents calls its features, and the constants that it has, by where
// they are: a row of the page is about each of them. "_of_" stands for a space.
var strandsHas = map[string]string{
	"making an agent": `model messages tools system_prompt structured_output_model structured_output_prompt callback_handler
		conversation_manager record_direct_tool_call load_tools_from_directory trace_attributes agent_id name description state plugins hooks
		session_manager tool_executor retry_strategy concurrent_invocation_mode throw unsafe_reentrant`,
	"calls": `interruptResponse ConcurrencyException stream_async invocation_state request_state stop_event_loop
		schema_of_version app_data interrupt_state conversation_manager_state`,
	"cycles": `BeforeModelCall AfterModelCall force_stop max_tokens EventLoopException StructuredOutputException resume end_turn`,
	"stop reasons": `cancelled checkpoint content_filtered end_turn guardrail_intervened interrupt limit_output_tokens limit_total_tokens
		limit_turns limit_structured_output_attempts max_tokens stop_sequence tool_use pauseTurn refusal modelContextWindowExceeded`,
	"streams": "redactContent INVALID_TOOL_NAME [blank_of_text]",
	"retries": "6 4_of_s 240_of_s 4000_of_ms 240000_of_ms 1_of_s 30_of_s none full equal decorrelated constant linear exponential attemptCount 8, 16, 32, 64",
	"events": `init_event_loop start start_event_loop event messageStart contentBlockStart contentBlockDelta contentBlockStop messageStop metadata data
		delta tool_use_stream current_tool_use citation reasoningText reasoning_signature reasoningRedactedContent event_loop_throttled_delay message
		tool_stream tool_stream_event tool_cancel_event tool_interrupt_event structured_output force_stop force_stop_reason result
		multiagent_node_start multiagent_node_stream multiagent_node_stop multiagent_handoff multiagent_node_cancel multiagent_node_interrupt
		multiagent_result PrintingCallbackHandler`,
	"hooks": `AgentInitialized BeforeInvocation AfterInvocation MessageAdded BeforeModelCall AfterModelCall BeforeTools AfterTools BeforeToolCall
		AfterToolCall MultiAgentInitialized BeforeNodeCall AfterNodeCall BeforeMultiAgentInvocation AfterMultiAgentInvocation order
		cancel_tool selected_tool tool_use projected_input_tokens init_agent middleware interventions proceed deny guide confirm transform onError`,
	"tools":             "ToolContext ToolProvider replace() 64 preserve_context retry 4",
	"interrupts":        "id name reason response uuid5",
	"structured output": "tool_choice structured_output",
	"managers": `0.7 200_of_000 removed_message_count window_size 40 per_turn 0 400 200 0.3 0.1 0.8 preserve_recent 10 85 drop truncate summarize relevance
		deferred 2_of_500 1_of_000 pinned contextManager`,
	"sessions": "session.json agent.json S3 redact_message _internal_state.interrupt_state saveLatestOn",
	"telemetry": `invoke_agent execute_event_loop_cycle chat execute_tool execute_structured_output gen_ai.operation.name gen_ai.system gen_ai.provider.name
		gen_ai.agent.name gen_ai.request.model gen_ai.agent.tools gen_ai.tool.name gen_ai.tool.call.id gen_ai.tool.status gen_ai.tool.description
		gen_ai.tool.json_schema gen_ai.server.time_to_first_token gen_ai.server.request.duration event_loop.cycle_id event_loop.parent_cycle_id
		gen_ai.event.start_time gen_ai.choice gen_ai.client.inference.operation.details OTEL_SEMCONV_STABILITY_OPT_IN
		strands.event_loop.cycle_count strands.event_loop.start_cycle strands.event_loop.end_cycle strands.event_loop.latency
		strands.event_loop.cycle_duration strands.event_loop.input.tokens strands.event_loop.output.tokens
		strands.event_loop.cache_read.input.tokens strands.event_loop.cache_write.input.tokens strands.tool.call_count strands.tool.success_count
		strands.tool.error_count strands.tool.duration strands.model.time_to_first_token EventLoopMetrics.get_summary traceparent`,
	"results":   "stop_reason message metrics state interrupts structured_output checkpoint agent_result",
	"providers": "bedrock anthropic openai responses gemini litellm llamaapi llama.cpp mistral ollama sagemaker writer router count_tokens context_window_limit",
	"the rest": `redact_message cachePoint TTL CacheConfig max_node_executions execution_timeout node_timeout reset_on_revisit handoff_to_agent
		max_handoffs max_iterations 20 900_of_s 300_of_s 9000 0.0.1 32042 1_of_min 5_of_min isError structuredContent _meta cancel() AbortSignal
		cycle_index checkpointResume SKILL.md allowed_tools AGENTS.md steering goal injector memory sandbox budget todos verification subagent`,
}
