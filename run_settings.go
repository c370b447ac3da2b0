package braid

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/answering"
	"github.com/braidrun/braid/internal/drive"
	"github.com/braidrun/braid/internal/foreign"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/internal/runset"
	"github.com/braidrun/braid/internal/toolset"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/model"
)

// ownSettings are what a run has for itself. The fields below set are Go values, of which the run's row has the names.
type ownSettings struct {
	set    runset.Settings
	limits Limits
	model  Model
	tools  []Tool
	err    error
	// answer answers the run's questions; nil leaves them open.
	answer answering.Func
	// label is what the run's row keeps, agent what the run is driven with: nil for the agent itself.
	label string
	agent *drive.Agent
}

// WithInstructions adds a paragraph below the agent's instructions for one run.
func WithInstructions(text string) SendOption {
	return sendOption(func(o *runOptions) { s := o.sets(); s.set.Instructions = joinTexts(s.set.Instructions, text) })
}

// WithLimits sets limits of one run. A zero field leaves the agent's limit, a negative one means no bound. The limits of
// agents that are used as tools stay; what [Limits] counts with the scopes below bounds them too.
func WithLimits(l Limits) SendOption {
	return sendOption(func(o *runOptions) { s := o.sets(); s.limits = runset.Fill(l, s.limits) })
}

// WithModelOptions sets options of the model calls of one run. A zero field leaves the agent's ([Options]); Extra and
// Headers are joined with the agent's. A server tool with a token is refused: a row cannot keep it.
func WithModelOptions(options model.Options) SendOption {
	return sendOption(func(o *runOptions) { s := o.sets(); s.set.Options = runset.Over(options, s.set.Options) })
}

// WithToolChoice sets what the model must do with its tools in one run. [model.ToolsAny] and [model.ToolsOne] hold for
// the run's first model call: a model that had to call tools for ever would never answer. [model.ToolsNone] and Serial
// hold for all of them.
func WithToolChoice(c model.ToolChoice) SendOption {
	return sendOption(func(o *runOptions) { s := o.sets(); s.set.Choice = c })
}

// WithModel has another model answer in one run, in the place of the agent's first one. Fallbacks stay, and sub-agents
// keep their own. The row keeps the model's name: another driver of the run must be given a model of this name, unless
// the agent has one.
func WithModel(m Model) RunOption {
	return runOption(func(o *runOptions) {
		if foreign.IsNil(m) {
			o.sets().fail("the model of the run is nil", "leave WithModel out")
			return
		}
		o.sets().model = m
	})
}

// WithTools gives one run tools beside the agent's. None may have the name of another tool. The row keeps their names:
// another driver of the run must be given them again. An agent cannot become a tool of one run.
func WithTools(tools ...Tool) RunOption {
	return runOption(func(o *runOptions) { s := o.sets(); s.tools = append(s.tools, tools...) })
}

// sets returns the settings for writing.
func (o *runOptions) sets() *ownSettings {
	if o.own == nil {
		o.own = &ownSettings{}
	}
	return o.own
}

// asks reports whether a function answers the run's questions. A run that an engine drives is parked instead.
func (o *runOptions) asks() bool { return o.own != nil && o.own.answer != nil && o.Engine == nil }

func (s *ownSettings) fail(message, hint string) {
	if s.err == nil {
		s.err = &event.Error{Op: "run", Kind: event.ErrInvalid, Message: message, Hint: hint}
	}
}

// Check reports why a run with these options would be refused before anything of it is run; nil if it would not.
func (a *Agent) Check(opts ...RunOption) error {
	if err := a.Err(); err != nil {
		return err
	}
	if _, err := a.team(); err != nil {
		return err
	}
	o := options(opts)
	return a.prepare(o)
}

// prepare checks the settings of a run and makes the agent that it is driven with.
func (a *Agent) prepare(o *runOptions) error {
	if o.of != nil {
		return nil
	}
	o.of, o.Settings = a, o
	s := o.own
	if s == nil {
		return nil
	}
	if err := s.name(); err != nil {
		return err
	}
	label, err := s.set.Label()
	if err != nil {
		return &event.Error{
			Op: "run", Kind: event.ErrInvalid, Message: "the settings of the run cannot be kept", Hint: "check WithModelOptions", Err: err,
		}
	}
	if label != "" {
		given, err := runset.Read(label) // as the row has it
		if err == nil {
			s.set = *given
			s.agent, err = a.withSettings(given, o, true)
		}
		if err != nil {
			return err
		}
		o.Metadata = maps.Clone(o.Metadata)
		if o.Metadata == nil {
			o.Metadata = make(map[string]string, 1)
		}
		o.Metadata[journal.SettingsLabel] = label
	}
	s.label = label
	return nil
}

// name fills in the names of the Go values, and checks what needs no agent.
func (s *ownSettings) name() error {
	if s.err != nil {
		return s.err
	}
	if s.limits != (Limits{}) {
		raw, err := runset.Sparse(s.limits)
		if err != nil {
			return err
		}
		s.set.Limits = raw
	}
	if s.model != nil {
		if err := foreign.Shield("run", "the model of the run", func() error { s.set.Model = s.model.Info().Name; return nil }); err != nil {
			return err
		}
		if s.set.Model == "" {
			s.fail("the model of the run has no name", "give its Info a Name")
		}
	}
	for _, t := range s.tools {
		if foreign.IsNil(t) {
			s.fail("a tool of the run is nil", "leave it out")
			return s.err
		}
		if drive.OpensScopes(t) {
			return &event.Error{
				Op: "run", Kind: event.ErrUnsupported, Message: "an agent cannot become a tool of one run", Hint: "give it to the agent, with AsTool",
			}
		}
		err := foreign.Shield("run", "a tool of the run", func() error { s.set.Tools = append(s.set.Tools, t.Spec().Name); return nil })
		if err != nil {
			return err
		}
	}
	c := &s.set.Choice
	if text := s.set.Instructions; !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		s.fail("the instructions of the run are not valid UTF-8, or contain a zero character", "convert them first")
	}
	switch known := []model.ToolMode{model.ToolsFree, model.ToolsAny, model.ToolsNone, model.ToolsOne}; {
	case !slices.Contains(known, c.Mode):
		s.fail("there is no tool choice "+strconv.Quote(string(c.Mode)), "use any, none or one")
	case (c.Mode == model.ToolsOne) != (c.Tool != ""):
		s.fail("a tool choice names a tool exactly if its mode is one", "set both Mode and Tool, or none of them")
	}
	if slices.ContainsFunc(s.set.Options.ServerTools, func(t model.ServerTool) bool { return t.Token != nil }) {
		s.fail("a server tool with a token cannot be an option of one run: its row would have to keep the token",
			"give it to the agent, with Options")
	}
	return s.err
}

// none are the settings of a run that was given none. Nobody changes them.
var none ownSettings

// Settled returns what an accepted run is driven with: nil for the agent itself. The settings in its row count. Those
// that this drive was given must not be others, unless the run is an orphan that stands in the way of its own.
func (o *runOptions) Settled(run *journal.Run, orphan bool) (*drive.Agent, error) {
	label, given := run.Metadata[journal.SettingsLabel], cmp.Or(o.own, &none)
	switch {
	case label == given.label:
		return given.agent, nil
	case run.Cancelled || orphan && label == "":
		return nil, nil //nolint:nilnil // the agent itself: of a cancelled run only the end is written
	}
	unlike := func(message, hint string, err error) error {
		return &event.Error{Op: "run", Kind: event.ErrConflict, Message: message, Hint: hint, Err: err}
	}
	kept := &runset.Settings{}
	if label != "" {
		var err error
		if kept, err = runset.Read(label); err != nil {
			return nil, unlike("the settings that the run was accepted with cannot be read",
				"drive it with the version of the program that accepted it", err)
		}
	}
	if !orphan && !kept.Keeps(&given.set) {
		return nil, unlike("the run has other settings than it is driven with now", "give it those that it began with; it keeps waiting", nil)
	}
	return o.of.withSettings(kept, o, false)
}

// keeps returns an error if a message comes with settings that the open run, which it joins, does not have.
func keeps(open *journal.Run, label string) error {
	has := open.Metadata[journal.SettingsLabel]
	if label == "" || label == has {
		return nil
	}
	given, err := runset.Read(label)
	kept := &runset.Settings{}
	if has != "" && err == nil {
		kept, err = runset.Read(has)
	}
	if err == nil && kept.Keeps(given) {
		return nil
	}
	return &event.Error{
		Op: "send", Kind: event.ErrConflict, Err: err,
		Message: "the message has settings that the open run did not begin with: a run keeps its settings to its end",
		Hint:    "send the message without them, or with Queue or Interrupt as a run of its own",
	}
}

// withSettings returns a copy of the agent with a run's settings. strictly says that the run is not accepted yet: then it
// is checked what the models and the tools of the moment allow. A run that was accepted finds that out as it goes on.
func (a *Agent) withSettings(s *runset.Settings, o *runOptions, strictly bool) (*drive.Agent, error) {
	d := *a.frozen
	if d.Flow != nil && (s.Instructions != "" || s.Model != "" || s.Tools != nil || s.Choice != (model.ToolChoice{}) || runset.Any(s.Options)) {
		return nil, &event.Error{
			Op: "agent " + d.Name, Kind: event.ErrUnsupported, Message: "the agent calls no model, so a run of it has only limits for itself",
			Hint: "give the settings to the agents that it runs",
		}
	}
	if s.Instructions != "" {
		d.Instructions = joinTexts(d.Instructions, s.Instructions)
		d.InstructionTokens = model.TextTokens(d.Instructions)
	}
	d.Options, d.Choice = runset.Over(s.Options, d.Options), s.Choice
	if err := a.replaceModel(&d, s.Model, o); err != nil {
		return nil, err
	}
	if err := a.addTools(&d, s.Tools, o); err != nil {
		return nil, err
	}
	bounded := *a.bounded
	if s.Limits != nil {
		var l Limits
		if err := runset.Strictly(s.Limits, &l); err != nil {
			return nil, &event.Error{Op: "run", Kind: event.ErrInvalid, Message: "the limits of the run cannot be read", Err: err}
		}
		bounded = runset.Fill(l, bounded)
		d.Bounds, d.Limits = new(bounded.bounds()), new(bounded.driven())
	}
	if !strictly {
		return &d, nil
	}
	if err := a.priced(&d, &bounded, d.Current()); err != nil || d.Flow != nil {
		return &d, err
	}
	if err := canChoose(&d); err != nil {
		return nil, err
	}
	return &d, a.canAsk(&d, o)
}

// replaceModel puts the run's model in the place of the agent's.
func (a *Agent) replaceModel(d *drive.Agent, name string, o *runOptions) error {
	if name == "" {
		return nil
	}
	m := cmp.Or(o.own, &none).model
	if m == nil {
		i := slices.IndexFunc(d.Models(), func(m Model) bool { return m.Info().Name == name })
		if i < 0 {
			return &event.Error{
				Op: "run", Kind: event.ErrConflict,
				Message: "the run was begun with the model " + name + ", which neither the agent nor this drive has",
				Hint:    "pass the model with braid.WithModel; the run keeps waiting",
			}
		}
		m = d.Models()[i]
	}
	d.Model = m
	d.Fallbacks = slices.DeleteFunc(slices.Clone(d.Fallbacks), func(m Model) bool { return m.Info().Name == name })
	return nil
}

// addTools gives a run its own tools beside the agent's, which may change while the run is driven.
func (a *Agent) addTools(d *drive.Agent, names []string, o *runOptions) error {
	given := cmp.Or(o.own, &none)
	own := given.tools
	if missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(given.set.Tools, n) }); len(missing) > 0 {
		return &event.Error{
			Op: "run", Kind: event.ErrConflict,
			Message: "the run was begun with tools of its own, which this drive does not have: " + toolset.List(missing),
			Hint:    "pass them with braid.WithTools; the run keeps waiting",
		}
	}
	if len(own) > 0 {
		with := toolset.NewExtended(d.Name, a.frozen.Current, own)
		if err := with.Err(); err != nil {
			return err
		}
		d.Own = with
	}
	if c := d.Choice; d.Search != nil && (len(own) > 0 || c.Tool != "") {
		d.Search = &toolset.Search{Above: d.Search.Above, Always: append(slices.Clip(d.Search.Always), names...), Results: d.Search.Results}
		if c.Tool != "" {
			d.Search.Always = append(d.Search.Always, c.Tool)
		}
	}
	return nil
}

// canChoose reports why the model cannot be made to call what it must call.
func canChoose(d *drive.Agent) error {
	c, offered := d.Choice, d.Current()
	switch {
	case c.Mode == model.ToolsAny && len(offered.Names) == 0:
		return &event.Error{
			Op: "run", Kind: event.ErrInvalid, Message: "the model must call a tool, and the agent has none", Hint: "leave WithToolChoice out",
		}
	case c.Mode == model.ToolsOne && offered.Find(c.Tool) < 0:
		hint := "the tools are: " + toolset.List(offered.Names)
		if near := nearest.Word(c.Tool, offered.Names); near != "" {
			hint = "did you mean " + strconv.Quote(near) + "?"
		}
		return &event.Error{
			Op: "run", Kind: event.ErrInvalid,
			Message: "the model must call the tool " + strconv.Quote(c.Tool) + ", which the agent does not have", Hint: hint,
		}
	case c.Mode == model.ToolsOne && d.Denies(c.Tool):
		return &event.Error{
			Op: "run", Kind: event.ErrPermission,
			Message: "the model must call the tool " + strconv.Quote(c.Tool) + ", which the agent's permissions deny",
			Hint:    "choose another tool",
		}
	}
	return nil
}

// canAsk reports why the models cannot be asked what the run asks.
func (a *Agent) canAsk(d *drive.Agent, o *runOptions) error {
	form := d.Answer
	if o.Output != nil {
		form = o.Output
	}
	offered := d.Current()
	if _, err := clashing(form, d.Name, offered); err != nil {
		return err
	}
	return foreign.Shield("agent "+d.Name, "a model of the run", func() error {
		for _, m := range d.Models() {
			checker, info := drive.CheckerOf(m), m.Info()
			if err := d.Left(m); err != nil {
				return a.cannotAsk(info.Name, err)
			}
			if checker == nil {
				continue
			}
			tools, _ := offered.Told(info.Name, offered.Specs, nil)
			req := model.Request{Tools: tools, Options: d.Asks(m), Instructions: d.Instructions, ToolChoice: d.Choice}
			if err := drive.Suits(form, checker, &info, req); err != nil {
				return a.cannotAsk(info.Name, err)
			}
		}
		return nil
	})
}
