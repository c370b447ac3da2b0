package server_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
)

// A run that waits for its turn says so on its stream, and begins by itself.
func TestAQueuedRunSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *service.Options, _ *server.Options) { o.Engine.Running = 1 })
	first := s.conversation()
	busy := s.ask("POST", "/v1/conversations/"+first+"/runs", `{"user_input":"use wait"}`, "Accept", "text/event-stream")
	defer busy.Body.Close()
	one := bufio.NewScanner(busy.Body)
	for begun := false; !begun && one.Scan(); {
		begun = strings.HasPrefix(one.Text(), "event: tool_use")
	}
	second := s.conversation()
	waits := s.ask("POST", "/v1/conversations/"+second+"/runs", `{"user_input":"hello"}`, "Accept", "text/event-stream")
	defer waits.Body.Close()
	two := bufio.NewScanner(waits.Body)
	told, ended := false, false
	for two.Scan() {
		if line := two.Text(); strings.Contains(line, `"QUEUED"`) {
			told = true
			if running, queued := s.service.Load(); running != 1 || queued != 1 {
				t.Errorf("%d run and %d are queued", running, queued)
			}
			close(s.gate)
		} else if strings.HasPrefix(line, "event: result") {
			ended = true
		}
	}
	if !told || !ended {
		t.Errorf("told is %v, ended is %v", told, ended)
	}
}
