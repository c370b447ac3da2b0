package claude

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Option is a setting of a process. An option that is not given leaves the program's own default. An option that takes a
// list replaces what an earlier one of the same name set, unless it says otherwise.
type Option func(*config)

// config is what the options set.
type config struct {
	process     processConfig
	model       modelConfig
	prompt      promptConfig
	tools       toolConfig
	session     sessionConfig
	settings    settingsConfig
	permissions permissionConfig
	output      outputConfig
	hooks       []hookMatcher
	agents      map[string]Agent
	agent       string
}

type processConfig struct {
	path   string
	dir    string
	dirs   []string
	env    []string
	clean  bool
	stderr io.Writer
	debug  string
	args   []string
	// starting is how long the program may take to answer the first request; asking, another one.
	starting, asking time.Duration
}

type modelConfig struct {
	name       string
	fallback   []string
	thinking   *Thinking
	effort     string
	betas      []string
	turns      int
	budget     float64
	taskBudget int
	schema     json.RawMessage
}

type promptConfig struct {
	system   []string
	added    string
	plan     string
	stable   bool
	snapshot *bool
	literal  bool
}

type toolConfig struct {
	set     *[]string
	allowed []string
	denied  []string
	aliases map[string]string
	servers map[string]Server
	own     map[string]*ToolServer
	strict  bool
	elicit  func(context.Context, *Elicitation) (ElicitationAnswer, error)
	dialog  func(context.Context, *Dialog) (any, error)
	dialogs []string
}

type sessionConfig struct {
	resume string
	latest bool
	fork   bool
	id     string
	at     string
	drops  string
	forget bool
	mirror bool
	title  string
	undo   bool
}

type settingsConfig struct {
	sources *[]string
	own     json.RawMessage
	sandbox json.RawMessage
	managed json.RawMessage
	skills  *[]string
	plugins []Plugin
	root    string
}

type permissionConfig struct {
	mode    string
	ask     func(context.Context, *PermissionRequest) (Permission, error)
	prompts string
	tool    string
	skip    bool
}

type outputConfig struct {
	partial, hookEvents, replay, forward, suggest, summaries, stoppable, states bool
}

func newConfig(opts []Option) *config {
	c := &config{}
	c.process.starting, c.process.asking = time.Minute, time.Minute
	for _, o := range opts {
		if o != nil {
			o(c)
		}
	}
	return c
}
