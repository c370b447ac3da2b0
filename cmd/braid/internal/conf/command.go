package conf

import (
	"context"
	"flag"
	"io"
	"slices"
	"strings"

	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// Command is a command of braid, such as run.
type Command struct {
	Name string
	// Args is the usage of the arguments after the flags.
	Args  string
	Short string
	// About describes the command in paragraphs.
	About string
	// Examples are lines to type.
	Examples []Example
	// Options is set if the command takes the options of the configuration.
	Options bool
	// Some lists the options that the command takes; nil is all.
	Some []string
	// Flags are the command's own flags.
	Flags []Flag
	Run   func(context.Context, *Invocation) error
}

// Example is a line to type, and a description of its effect.
type Example struct{ Line, Says string }

// Flag is a flag of one command, not an option of the configuration.
type Flag struct {
	Name, Short string
	// Value is the placeholder of the value in help; empty for a switch.
	Value    string
	Optional bool
	// List allows the flag several times. The values are joined by line feeds.
	List bool
	Help string
}

// takes reports whether the command takes an option.
func (c *Command) takes(option string) bool {
	return c.Options && (c.Some == nil || slices.Contains(c.Some, option))
}

// Invocation is one call of a command with its parsed arguments.
type Invocation struct {
	Cmd *Command
	// Options holds the configuration's options on the command line, by option name.
	Options map[string]string
	Flags   map[string]string
	Args    []string
	// Behind holds, for a flag without its optional value, the index in Args of the argument after it.
	Behind map[string]int
}

// On reports whether a switch of the command is on.
func (in *Invocation) On(name string) bool { return in.Flags[name] == "true" }

// textValue is a flag that keeps its text. Values are checked later, after flags, environment and file are
// merged.
type textValue struct {
	to             map[string]string
	name           string
	bool, optional bool
	// list allows the flag several times: the values are joined by separator.
	list      bool
	separator string
	// text begins a value of a switch that is neither true nor false; empty is none.
	text string
}

func (t *textValue) String() string { return "" }

func (t *textValue) Set(s string) error {
	if before, given := t.to[t.name]; given && t.list {
		s = before + t.separator + s
	}
	t.to[t.name] = s
	return nil
}

func (t *textValue) IsBoolFlag() bool { return t.bool }

// FlagsOf returns all flags of a command.
func FlagsOf(c *Command) []Flag {
	specs := append([]Flag(nil), c.Flags...)
	if c.Options {
		for i := range Options {
			o := &Options[i]
			if !c.takes(o.Name) {
				continue
			}
			help := o.Help
			if o.Def != "" && o.Def != "0" && o.Def != "false" {
				help += " (" + o.Def + ")"
			}
			specs = append(specs, Flag{Name: o.Flag(), Short: o.short, Value: o.value, Help: help})
		}
		specs = append(specs, Flag{Name: "config", Value: "FILE", Help: "configuration file to read (see braid help options)"})
	}
	return append(specs, Flag{Name: "help", Short: "h", Help: "show this"})
}

// ParseFlags reads a command's flags, which may be before and after the arguments. "--" ends the flags; "-"
// is an argument. One dash or two begin a flag.
func ParseFlags(c *Command, args []string) (*Invocation, error) {
	in := &Invocation{Cmd: c, Options: map[string]string{}, Flags: map[string]string{}, Behind: map[string]int{}}
	fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var names []string
	for _, spec := range FlagsOf(c) {
		v := &textValue{
			to: in.Flags, name: spec.Name, bool: spec.Value == "", optional: spec.Optional, list: spec.List, separator: "\n",
		}
		for i := range Options {
			if o := &Options[i]; o.Flag() == spec.Name && c.takes(o.Name) {
				v.to, v.name, v.list, v.separator, v.text = in.Options, o.Name, o.list, o.separator(), o.text
			}
		}
		names = append(names, spec.Name)
		fs.Var(v, spec.Name, "")
		if spec.Short != "" {
			fs.Var(v, spec.Short, "")
		}
	}
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			in.Args = append(in.Args, args[1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			in.Args = append(in.Args, arg)
			args = args[1:]
			continue
		}
		name, text, given := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		f := fs.Lookup(name)
		if f == nil {
			list := "braid " + c.Name + " --help lists the flags; write -- before text that begins with a dash"
			return nil, term.Invalid(term.DidYouMean(name, names, "--", list), "there is no flag --%s", term.Fit(name, 40))
		}
		v := f.Value.(*textValue)
		switch {
		case given:
			args = args[1:]
		case v.bool:
			text, args = "true", args[1:]
		case v.optional:
			text, args = "", args[1:]
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				in.Behind[v.name] = len(in.Args)
			}
		case len(args) < 2:
			return nil, term.Invalid("braid "+c.Name+" --help shows what it takes", "--%s needs a value", f.Name)
		default:
			text, args = args[1], args[2:]
		}
		if v.bool && (v.text == "" || !strings.HasPrefix(text, v.text)) {
			var on bool
			if err := ParseSwitch(&on, text); err != nil {
				return nil, term.Invalid("", "--%s: %q %s", f.Name, term.Fit(text, 40), err)
			}
			if on {
				text = "true"
			}
		}
		if v.name == "help" && text == "true" {
			return nil, flag.ErrHelp
		}
		if err := v.Set(text); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// NoArguments returns an error if there are arguments.
func (in *Invocation) NoArguments() error {
	if len(in.Args) == 0 {
		return nil
	}
	return &event.Error{
		Kind: event.ErrInvalid, Message: "braid " + in.Cmd.Name + " takes no arguments, only flags",
		Hint: "braid " + in.Cmd.Name + " --help shows them",
	}
}

// Config loads the configuration of an invocation.
func (sys *System) Config(in *Invocation) (*Config, error) {
	return sys.LoadConfig(in.Options, in.Flags["config"])
}
