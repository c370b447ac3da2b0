package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/hook"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/task"
	"github.com/braidrun/braid/tool"
)

// taskTool is the tool that starts sub-agents. The program also calls it Agent.
const taskTool = "Task"

// New makes an agent whose model calls and own tools are the program's. parts are those of [braid.New]. It does not fail:
// [braid.Agent.Err] and every run report what is wrong.
func New(name string, o Options, parts ...braid.Part) *braid.Agent {
	m, own := Claude(o)
	return braid.New(name, m, append([]braid.Part{own}, parts...)...)
}

// Claude returns the program as a model, and the part that an agent with that model needs: the program's tools and the hooks by
// which the program hears of the log. They are for one agent.
//
//	m, part := runner.Claude(runner.Options{Dir: "."})
//	coder := braid.New("coder", m, part)
func Claude(o Options) (*Model, braid.Part) {
	if o.Tools == nil {
		o.Tools = DefaultTools()
	}
	o.Tools = slices.DeleteFunc(slices.Clone(o.Tools), func(t string) bool { return t == taskTool || t == "Agent" })
	m := &Model{options: o, sessions: map[string]*session{}, own: map[string]bool{taskTool: true}}
	return m, m.Parts()
}

// Parts is the part that [Claude] returns.
func (m *Model) Parts() braid.Part {
	own := []braid.Part{
		braid.Tools(m.tools(m.options.Tools)...),
		braid.On(m.beforeDrive),
		braid.On(m.eventSent),
		braid.On(m.afterDrive),
	}
	if len(m.options.Agents) > 0 {
		own = append(own, braid.Tools(m.taskTool()))
	}
	return braid.Parts(own...)
}

// taskTool makes the tool for sub-agents.
func (m *Model) taskTool() tool.Tool {
	types := make([]task.Type, 0, len(m.options.Agents))
	names := make([]string, 0, len(m.options.Agents))
	for name := range m.options.Agents {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		a := m.options.Agents[name]
		list := slices.DeleteFunc(slices.Clone(a.Tools), func(t string) bool { return t == taskTool || t == "Agent" })
		if len(list) == 0 {
			list = m.options.Tools
		}
		types = append(types, task.Type{
			Agent:       braid.New(name, m, braid.Instructions(a.Prompt), braid.Tools(m.tools(list)...)),
			Description: a.Description,
		})
	}
	return task.New(task.Options{Name: taskTool, Models: func(_ context.Context, _, name string) (task.Model, error) {
		return task.Model{Model: &alias{Model: m, name: name}}, nil
	}}, types...)
}

// alias is the model under the name that a call gave it. The program resolves it.
type alias struct {
	*Model
	name string
}

// Info implements [model.Model].
func (a *alias) Info() model.Info {
	info := a.Model.Info()
	info.Name = a.name
	return info
}

// agents are the sub-agents in the program's form.
func (m *Model) agents() map[string]claude.Agent {
	agents := map[string]claude.Agent{}
	for name, a := range m.options.Agents {
		a.Tools = slices.DeleteFunc(slices.Clone(a.Tools), func(t string) bool { return t == taskTool || t == "Agent" })
		if len(a.Tools) == 0 {
			a.Tools = m.options.Tools
		}
		a.Background = false
		agents[name] = a
	}
	return agents
}

// eventSent hears of each step that ended, once it is in the log. The program then gets the result, or the refusal.
func (m *Model) eventSent(_ context.Context, e *hook.EventSent) error {
	if b, ok := e.Event.Body.(*event.StepEnded); ok && b.Result != nil {
		if s := m.running(e.Event.Run, parentOf(e.Event.Step)); s != nil {
			s.ended(b.Result, b.Shown)
		}
	}
	return nil
}

// driven is the key of the run in the context of its drive.
type driven struct{}

// beforeDrive notes the run for afterDrive, also where the drive fails.
func (m *Model) beforeDrive(_ context.Context, e *hook.BeforeDrive) error {
	e.Context = context.WithValue(e.Context, driven{}, e.Run)
	m.follow(e.Run)
	return nil
}

// afterDrive ends the program with the drive. A run that waits keeps it for a while.
func (m *Model) afterDrive(ctx context.Context, e *hook.AfterDrive) error {
	if run, ok := ctx.Value(driven{}).(string); ok {
		m.let(run, e.Err == nil && e.Result.Status == event.RunWaiting)
	}
	return nil
}

// parentOf returns the scope of a tool's step.
func parentOf(step string) string {
	if i := strings.LastIndexByte(step, '/'); i >= 0 {
		return step[:i]
	}
	return ""
}
