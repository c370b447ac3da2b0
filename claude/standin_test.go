package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recordings is the folder of what the real program wrote, version 2.1.329.
const recordings = "../event/testdata/vocabulary"

// standing returns the options that run this test binary in the place of the program. mode says what it does; see standIn.
func standing(mode string) []Option {
	return []Option{Command(os.Args[0]), CleanEnv(), Env("BRAID_STANDIN="+mode, "GORACE=atexit_sleep_ms=0"), StartTimeout(20 * time.Second)}
}

// recorded returns the path of a recording, for standing.
func recorded(tb testing.TB, name string) string {
	tb.Helper()
	path, err := filepath.Abs(filepath.Join(recordings, name+".jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	return "play " + path
}

// host reads what the host writes.
type host struct{ *bufio.Reader }

type hostLine struct {
	Type    string          `json:"type"`
	ID      string          `json:"request_id"`
	Request json.RawMessage `json:"request"`
	Message json.RawMessage `json:"message"`

	Response struct {
		ID string `json:"request_id"`
	} `json:"response"`
}

// next returns the next line; false after the last.
func (h host) next() (l hostLine, ok bool) {
	line, err := h.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &l) != nil {
		return l, false
	}
	return l, true
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func succeed(id, response string) {
	say(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, id, response)
}

const resultLine = `{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}`

// standIn is the program. It returns its exit code.
func standIn(mode string) int {
	h := host{bufio.NewReader(os.Stdin)}
	mode, arg, _ := strings.Cut(mode, " ")
	switch mode {
	case "play":
		return playRecording(h, arg)
	case "exit":
		fmt.Fprintln(os.Stderr, arg)
		return 3
	case "deaf": // does not even read
		<-time.After(time.Hour)
	}
	l, _ := h.next()
	switch mode {
	case "args":
		return tellArguments(l)
	case "hang":
		<-time.After(time.Hour)
	case "refuse":
		say(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"no"}}`, l.ID)
		return 0
	}
	succeed(l.ID, `{"commands":[]}`)
	if mode == "tree" {
		leaveProcesses(arg)
	}
	for {
		l, ok := h.next()
		if !ok {
			if mode == "stays" {
				<-time.After(time.Hour)
			}
			return 0
		}
		if l.Type == "control_request" {
			if mode != "mute" {
				succeed(l.ID, `{}`)
			}
			if mode == "slow" && bytes.Contains(l.Request, []byte(`"interrupt"`)) {
				say(`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","session_id":"s"}`)
			}
			continue
		}
		if l.Type != "user" {
			continue
		}
		if done := misbehave(mode, h); done {
			return 4
		}
	}
}

// misbehave answers a prompt. It reports whether the program ends.
func misbehave(mode string, h host) bool {
	switch mode {
	case "garbage":
		say("Segmentation fault (core dumped)")
	case "nothing":
		say(`{"no":"type"}`)
	case "half":
		fmt.Print(`{"type":"assistant","mess`)
		return true
	case "dies":
		return true
	case "closes":
		_ = os.Stdout.Close()
		<-time.After(time.Hour)
	case "long":
		text := strings.Repeat("x", MaxLine-200)
		say(`{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]}}`, text)
		say(resultLine)
	case "longer":
		fmt.Printf(`{"type":"assistant","message":{"content":"`)
		for range MaxLine >> 20 {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
		say(`"}}`)
		say(resultLine)
	case "slow", "mute":
		say(`{"type":"assistant","message":{"content":"I begin."}}`)
	case "flood":
		for range mostAsked + 100 {
			say(`{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{}}}`)
		}
		say(resultLine)
	case "ask":
		askEverything(h)
		say(resultLine)
	default:
		say(`{"type":"assistant","message":{"content":"Hello."}}`)
		say(resultLine)
	}
	return false
}

// questions are requests that a host must answer, whatever is in them.
var questions = []string{
	`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1"}`,
	`{"subtype":"can_use_tool","tool_name":"Panic","input":{},"tool_use_id":"t2"}`,
	`{"subtype":"can_use_tool","tool_name":7}`,
	`{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1"}}`,
	`{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PreToolUse","tool_name":"Panic"}}`,
	`{"subtype":"hook_callback","callback_id":"hook_9","input":{}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","method":"notifications/initialized"}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":2,"method":"tools/call",` +
		`"params":{"name":"add","arguments":{"a":1},"_meta":{"claudecode/toolUseId":"t3"}}}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"panic"}}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"none"}}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":5,"method":"resources/list"}}`,
	`{"subtype":"mcp_message","server_name":"calc","message":[1]}`,
	`{"subtype":"mcp_message","server_name":"other","message":{}}`,
	`{"subtype":"elicitation","mcp_server_name":"calc","message":"Your name?"}`,
	`{"subtype":"request_user_dialog","dialog_kind":"d"}`,
	`{"subtype":"no_such"}`,
	`7`,
}

// askEverything asks all questions at once, and tells the answers in the order of the questions.
func askEverything(h host) {
	for i, q := range questions {
		say(`{"type":"control_request","request_id":"q%02d","request":%s}`, i, q)
	}
	answers := make([]json.RawMessage, len(questions))
	for range questions {
		line, err := h.ReadBytes('\n')
		var l hostLine
		if err != nil || json.Unmarshal(line, &l) != nil || l.Type != "control_response" {
			return
		}
		var n int
		if _, err := fmt.Sscanf(l.Response.ID, "q%d", &n); err != nil {
			return
		}
		answers[n] = bytes.TrimSpace(line)
	}
	for _, a := range answers {
		say(`{"type":"answer","subtype":"to_question","line":%s}`, a)
	}
}

// tellArguments answers the first request with the arguments and the request itself.
func tellArguments(l hostLine) int {
	dir, _ := os.Getwd()
	told, err := json.Marshal(map[string]any{"args": os.Args[1:], "dir": dir, "request": l.Request})
	if err != nil {
		return 5
	}
	succeed(l.ID, string(told))
	return 0
}

// playRecording plays a recording: it writes what the program wrote, and waits where the host wrote. A recording of the
// output alone begins with the first prompt.
func playRecording(h host, path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 6
	}
	var steps []recordedStep
	ids := map[string]string{} // of our host's requests, by those in the recording
	dialog := strings.HasSuffix(path, ".dialog.jsonl")
	if !dialog {
		steps = append(steps, recordedStep{Dir: "host->cli", Line: json.RawMessage(`{"type":"user"}`)})
	}
	for line := range bytes.Lines(text) {
		s := recordedStep{Line: bytes.TrimSpace(line)}
		if dialog && json.Unmarshal(line, &s) != nil {
			return 7
		}
		steps = append(steps, s)
	}
	if !bytes.Contains(steps[0].Line, []byte(`"initialize"`)) {
		l, _ := h.next()
		succeed(l.ID, `{}`)
	}
	answered := false
	for _, s := range steps {
		answered = bytes.Contains(s.Line, []byte(`"type":"result"`)) || answered && s.Dir != "host->cli"
		if s.Dir != "host->cli" {
			line := string(s.Line)
			for old, id := range ids {
				line = strings.Replace(line, `"request_id":"`+old+`"`, `"request_id":"`+id+`"`, 1)
			}
			say("%s", line)
			continue
		}
		var want hostLine
		if json.Unmarshal(s.Line, &want) != nil {
			return 8
		}
		got, ok := h.next()
		if !ok || got.Type != want.Type {
			fmt.Fprintf(os.Stderr, "the host sent %q in the place of %q\n", got.Type, want.Type)
			return 9
		}
		if want.ID != "" {
			ids[want.ID] = got.ID
		}
	}
	if !answered {
		return 143 // it was killed
	}
	_, _ = h.next() // until the host closes
	return 0
}

type recordedStep struct {
	Dir  string          `json:"dir"`
	Line json.RawMessage `json:"line"`
}
