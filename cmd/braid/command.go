package main

import (
	"context"
	"flag"
	"io"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
)

// command is one word after "braid".
type command struct {
	name string
	// args is the usage of what follows the flags.
	args  string
	short string
	// about says what it does, in paragraphs; examples are lines to type.
	about    string
	examples []example
	// options says that it takes the configuration's options; some names those
	// that mean something to it, where not all do.
	options bool
	some    []string
	flags   []flagSpec
	run     func(context.Context, *invocation) error
}

type example struct{ line, says string }

// flagSpec is a flag of one command that is no option of the configuration.
type flagSpec struct {
	name, short string
	// value is the placeholder of its value; empty for a switch. optional says
	// that the value may be left out.
	value    string
	optional bool
	help     string
}

// takes reports whether the command takes an option.
func (c *command) takes(option string) bool {
	return c.options && (c.some == nil || slices.Contains(c.some, option))
}

// invocation is one use of a command.
type invocation struct {
	cmd *command
	// options are the configuration's options that stand on the command line,
	// flags the command's own; a switch that is on is "true".
	options map[string]string
	flags   map[string]string
	args    []string
	// behind says, for a flag whose value may be left out and was, which of args
	// stands right behind it.
	behind map[string]int
}

// on reports whether a switch of the command is given.
func (in *invocation) on(name string) bool { return in.flags[name] == "true" }

// textValue is a flag that keeps its text: values are checked later, when
// flags, environment and file have been put together.
type textValue struct {
	to             map[string]string
	name           string
	bool, optional bool
	// list says that it may stand several times: the values are joined by separator.
	list      bool
	separator string
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

// flagsOf is every flag that a command takes.
func flagsOf(c *command) []flagSpec {
	specs := append([]flagSpec(nil), c.flags...)
	if c.options {
		for i := range options {
			o := &options[i]
			if !c.takes(o.name) {
				continue
			}
			help := o.help
			if o.def != "" && o.def != "0" && o.def != "false" {
				help += " (" + o.def + ")"
			}
			specs = append(specs, flagSpec{name: o.flag(), short: o.short, value: o.value, help: help})
		}
		specs = append(specs, flagSpec{name: "config", value: "FILE", help: "configuration file to read (see braid help options)"})
	}
	return append(specs, flagSpec{name: "help", short: "h", help: "show this"})
}

// parseFlags reads a command's flags. They may stand before and after the
// arguments; "--" ends them; "-" is an argument. A flag stands for itself
// with one dash or two.
func parseFlags(c *command, args []string) (*invocation, error) {
	in := &invocation{cmd: c, options: map[string]string{}, flags: map[string]string{}, behind: map[string]int{}}
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var names []string
	for _, spec := range flagsOf(c) {
		v := &textValue{to: in.flags, name: spec.name, bool: spec.value == "", optional: spec.optional}
		for i := range options {
			if o := &options[i]; o.flag() == spec.name && c.takes(o.name) {
				v.to, v.name, v.list, v.separator = in.options, o.name, o.list, o.separator()
			}
		}
		names = append(names, spec.name)
		fs.Var(v, spec.name, "")
		if spec.short != "" {
			fs.Var(v, spec.short, "")
		}
	}
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			in.args = append(in.args, args[1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			in.args = append(in.args, arg)
			args = args[1:]
			continue
		}
		name, text, given := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		f := fs.Lookup(name)
		if f == nil {
			list := "braid " + c.name + " --help lists the flags; write -- before text that begins with a dash"
			return nil, invalid(didYouMean(name, names, "--", list), "there is no flag --%s", fit(name, 40))
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
				in.behind[v.name] = len(in.args)
			}
		case len(args) < 2:
			return nil, invalid("braid "+c.name+" --help shows what it takes", "--%s needs a value", f.Name)
		default:
			text, args = args[1], args[2:]
		}
		if v.bool {
			var on bool
			if err := parseSwitch(&on, text); err != nil {
				return nil, invalid("", "--%s: %q %s", f.Name, fit(text, 40), err)
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

// noArguments refuses arguments for a command that takes none.
func (in *invocation) noArguments() error {
	if len(in.args) == 0 {
		return nil
	}
	return &event.Error{
		Kind: event.ErrInvalid, Message: "braid " + in.cmd.name + " takes no arguments, only flags",
		Hint: "braid " + in.cmd.name + " --help shows them",
	}
}

// configOf puts the invocation's configuration together.
func (p *system) configOf(in *invocation) (*config, error) {
	return p.loadConfig(in.options, in.flags["config"])
}
