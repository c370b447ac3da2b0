package runner_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// standin is a small program that speaks the protocol of the real one, in the order in which version 2.1.332 does: it calls
// the models of the provider's stand-in, asks the host's hooks, runs Bash, calls the host's tools and has sub-agents. The
// peer suite runs the same tests with the real program.
type standin struct {
	in    *bufio.Reader
	model string
	hooks map[string]string

	mu      sync.Mutex
	last    int
	waiting map[string]chan json.RawMessage
	used    map[string]tokens
}

type tokens struct {
	In  int64 `json:"inputTokens"`
	Out int64 `json:"outputTokens"`
}

type dict = map[string]any

func (s *standin) say(line dict) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Println(string(text))
}

// ask sends a request to the host and returns the answer.
func (s *standin) ask(request dict) json.RawMessage {
	s.mu.Lock()
	s.last++
	id := fmt.Sprint("q", s.last)
	answer := make(chan json.RawMessage, 1)
	s.waiting[id] = answer
	s.mu.Unlock()
	s.say(dict{"type": "control_request", "request_id": id, "request": request})
	return <-answer
}

func (s *standin) hook(point string, input dict) (out struct {
	Continue bool `json:"continue"`
	Special  struct {
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason"`
		Input    json.RawMessage `json:"updatedInput"`
	} `json:"hookSpecificOutput"`
},
) {
	input["hook_event_name"] = point
	_ = json.Unmarshal(s.ask(dict{"subtype": "hook_callback", "callback_id": s.hooks[point], "input": input}), &out)
	return out
}

// listen reads what the host writes. It passes prompts on.
func (s *standin) listen(prompts chan<- json.RawMessage) {
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var l struct {
			Type     string          `json:"type"`
			ID       string          `json:"request_id"`
			Request  json.RawMessage `json:"request"`
			Message  json.RawMessage `json:"message"`
			Response struct {
				ID       string          `json:"request_id"`
				Response json.RawMessage `json:"response"`
			} `json:"response"`
		}
		if json.Unmarshal(line, &l) != nil {
			os.Exit(1)
		}
		switch l.Type {
		case "control_response":
			s.mu.Lock()
			s.waiting[l.Response.ID] <- l.Response.Response
			s.mu.Unlock()
		case "control_request":
			var r struct {
				Hooks map[string][]struct {
					IDs []string `json:"hookCallbackIds"`
				} `json:"hooks"`
			}
			_ = json.Unmarshal(l.Request, &r)
			for point, list := range r.Hooks {
				s.hooks[point] = list[0].IDs[0]
			}
			s.say(dict{"type": "control_response", "response": dict{"subtype": "success", "request_id": l.ID, "response": dict{}}})
		case "user":
			prompts <- l.Message
		}
	}
}

// standIn is the program. It returns its exit code.
func standIn() int {
	s := &standin{
		in: bufio.NewReader(os.Stdin), hooks: map[string]string{}, waiting: map[string]chan json.RawMessage{}, used: map[string]tokens{},
	}
	var messages []json.RawMessage
	for _, arg := range os.Args {
		if model, ok := strings.CutPrefix(arg, "--model="); ok {
			s.model = model
		}
		if path, ok := strings.CutPrefix(arg, "--resume="); ok {
			messages = readSession(path)
		}
	}
	prompts := make(chan json.RawMessage)
	go s.listen(prompts)
	for prompt := range prompts {
		s.say(dict{"type": "system", "subtype": "init", "session_id": "s", "model": s.model})
		text, status := s.work("", "", append(messages, prompt))
		s.mu.Lock()
		used := s.used
		s.mu.Unlock()
		result := dict{"type": "result", "subtype": "success", "is_error": status != 0, "result": text, "stop_reason": "end_turn", "modelUsage": used}
		if status != 0 {
			result["api_error_status"], result["terminal_reason"] = status, "api_error"
		}
		s.say(result)
	}
	return 0
}

// readSession returns the messages of a session file.
func readSession(path string) (messages []json.RawMessage) {
	text, err := os.ReadFile(path)
	if err != nil {
		os.Exit(1)
	}
	for line := range bytes.Lines(text) {
		var l struct {
			Message json.RawMessage `json:"message"`
		}
		if json.Unmarshal(line, &l) != nil || l.Message == nil {
			os.Exit(1)
		}
		messages = append(messages, l.Message)
	}
	return messages
}

type block struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// work is the loop of an agent. It returns its last text, or the status of a failure.
func (s *standin) work(parent, agent string, messages []json.RawMessage) (text string, status int) {
	for {
		blocks, status := s.call(parent, agent, messages)
		if status != 0 {
			return "API Error: " + fmt.Sprint(status), status
		}
		answer, _ := json.Marshal(dict{"role": "assistant", "content": blocks})
		messages = append(messages, answer)
		results := make([]dict, len(blocks))
		var tasks sync.WaitGroup
		for i, b := range blocks {
			switch {
			case b.Type == "text":
				text = b.Text
			case b.Name == "Task":
				tasks.Go(func() { results[i] = s.tool(parent, agent, &b) })
			default:
				tasks.Wait() // other tools run alone, as in the program
				results[i] = s.tool(parent, agent, &b)
			}
		}
		tasks.Wait()
		var list []dict
		for _, r := range results {
			if r != nil {
				list = append(list, r)
			}
		}
		if len(list) == 0 {
			return text, 0
		}
		if !s.hook("PostToolBatch", dict{"agent_id": agent}).Continue {
			return "stopped", 0
		}
		user, _ := json.Marshal(dict{"role": "user", "content": list})
		messages = append(messages, user)
	}
}

// call calls a model and tells the pieces.
func (s *standin) call(parent, agent string, messages []json.RawMessage) (blocks []block, status int) {
	body, _ := json.Marshal(dict{"model": s.model, "messages": messages, "stream": true})
	for {
		r, err := http.NewRequest(http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", bytes.NewReader(body))
		if err != nil {
			return nil, 500
		}
		r.Header.Set("X-Claude-Code-Agent-Id", agent)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, 500
		}
		if response.StatusCode != http.StatusOK {
			_ = response.Body.Close()
			return nil, response.StatusCode
		}
		blocks, whole := s.read(parent, agent, bufio.NewReader(response.Body))
		_ = response.Body.Close()
		if whole {
			return blocks, 0
		}
	}
}

// read reads a stream. It reports false for one that broke off.
func (s *standin) read(parent, agent string, r *bufio.Reader) (blocks []block, whole bool) {
	var message dict
	var id, stop string
	var in, out int64
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return blocks, false
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type    string `json:"type"`
			Message dict   `json:"message"`
			Block   block  `json:"content_block"`
			Delta   struct {
				Text string `json:"text"`
				JSON string `json:"partial_json"`
				Stop string `json:"stop_reason"`
			} `json:"delta"`
			Usage struct {
				Out int64 `json:"output_tokens"`
			} `json:"usage"`
		}
		if json.Unmarshal([]byte(data), &e) != nil {
			return nil, false
		}
		if e.Type == "error" {
			s.say(dict{"type": "stream_event", "event": dict{"type": "message_stop"}, "abandoned_blocks": dict{}})
			return nil, false
		}
		if parent == "" {
			s.say(dict{"type": "stream_event", "event": json.RawMessage(data), "parent_tool_use_id": nil})
		}
		switch e.Type {
		case "message_start":
			message = e.Message
			id, _ = message["id"].(string)
			usage, _ := message["usage"].(dict)
			n, _ := usage["input_tokens"].(float64)
			in = int64(n)
		case "content_block_start":
			e.Block.Input = nil
			blocks = append(blocks, e.Block)
		case "content_block_delta":
			b := &blocks[len(blocks)-1]
			b.Text += e.Delta.Text
			b.Input = append(b.Input, e.Delta.JSON...)
		case "content_block_stop":
			message["content"] = blocks[len(blocks)-1:]
			s.say(dict{"type": "assistant", "message": message, "parent_tool_use_id": parent, "agent_id": agent})
		case "message_delta":
			stop, out = e.Delta.Stop, e.Usage.Out
		case "message_stop":
			final := dict{"id": id, "stop_reason": stop, "usage": dict{"input_tokens": in, "output_tokens": out}}
			s.mu.Lock()
			u := s.used[s.model]
			s.used[s.model] = tokens{u.In + in, u.Out + out}
			s.mu.Unlock()
			s.say(dict{"type": "transcript_mirror", "filePath": "f", "entries": []dict{{"type": "assistant", "message": final}}})
			return blocks, true
		}
	}
}

// tool runs a call and returns its result.
func (s *standin) tool(parent, agent string, b *block) dict {
	result := dict{"type": "tool_result", "tool_use_id": b.ID}
	out := s.hook("PreToolUse", dict{"agent_id": agent, "tool_name": b.Name, "tool_input": b.Input, "tool_use_id": b.ID})
	if out.Special.Input != nil {
		b.Input = out.Special.Input
	}
	var args struct {
		Command string `json:"command"`
		Prompt  string `json:"prompt"`
	}
	_ = json.Unmarshal(b.Input, &args)
	switch {
	case out.Special.Decision != "allow":
		result["content"], result["is_error"] = out.Special.Reason, true
	case strings.HasPrefix(b.Name, "mcp__braid__"):
		var answer struct {
			Response struct {
				Result struct {
					Content any  `json:"content"`
					IsError bool `json:"isError"`
				} `json:"result"`
			} `json:"mcp_response"`
		}
		_ = json.Unmarshal(s.ask(dict{"subtype": "mcp_message", "server_name": "braid", "message": dict{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": dict{
				"name": strings.TrimPrefix(b.Name, "mcp__braid__"), "arguments": b.Input, "_meta": dict{"claudecode/toolUseId": b.ID},
			},
		}}), &answer)
		result["content"], result["is_error"] = answer.Response.Result.Content, answer.Response.Result.IsError
	case b.Name == "Task":
		id := "agent-" + b.ID
		s.say(dict{"type": "system", "subtype": "task_started", "task_id": id, "tool_use_id": b.ID})
		prompt, _ := json.Marshal(dict{"role": "user", "content": args.Prompt})
		text, status := s.work(b.ID, id, []json.RawMessage{prompt})
		how := "completed"
		if status != 0 {
			how = "failed"
		}
		s.say(dict{"type": "system", "subtype": "task_notification", "task_id": id, "tool_use_id": b.ID, "status": how})
		result["content"], result["is_error"] = text, status != 0
	default:
		text, err := exec.Command("sh", "-c", args.Command).CombinedOutput()
		result["content"], result["is_error"] = strings.TrimSpace(string(text)), err != nil
		if err != nil {
			result["content"] = "Exit code 3"
		}
	}
	s.say(dict{"type": "user", "message": dict{"role": "user", "content": []dict{result}}, "parent_tool_use_id": parent, "agent_id": agent})
	return result
}
