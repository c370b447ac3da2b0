package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/event"
)

// The configuration has three layers over the defaults: a file, the
// environment, the flags; the later one wins. Each value keeps its source, so
// that an error and `braid config` can name it.
//
// The file is the one that --config or BRAID_CONFIG names, otherwise
// braid/config.yaml in the person's folder for settings. A file in the working
// folder is never read by itself: a folder that somebody else made must not
// choose where a key and a prompt are sent.

// configLimit bounds the configuration file.
const configLimit = 1 << 20

// configEnv names the configuration file; it is no option, because a file
// cannot say where it is.
const configEnv = envPrefix + "CONFIG"

// value is what one layer says about an option.
type value struct {
	text string
	// source is where it comes from: "default", "--model", "BRAID_MODEL" or
	// "the configuration file, line 3".
	source string
}

// config is the configuration with where everything comes from.
type config struct {
	settings
	// values has one entry for each option, by name.
	values map[string]value
	// file is the configuration file that was looked for, found whether it is there.
	file  string
	found bool
}

// loadConfig puts the layers together. flags holds what the command line says,
// by option name; path is that of --config, "" where it was not given. The
// error is the first one that matters; the config is what could be understood.
func (p *system) loadConfig(flags map[string]string, path string) (*config, error) {
	c, errs := p.readConfig(flags, path)
	if len(errs) > 0 {
		return c, errs[0]
	}
	return c, nil
}

// readConfig is loadConfig with everything that is wrong, for `braid doctor`.
func (p *system) readConfig(flags map[string]string, path string) (*config, []error) {
	c := &config{values: map[string]value{}}
	var errs []error
	for _, o := range options {
		c.values[o.name] = value{o.def, "default"}
	}
	fromFile, err := c.readFile(p, path)
	errs = append(errs, err...)
	for i := range options {
		o := &options[i]
		if v, ok := fromFile[o.name]; ok {
			c.values[o.name] = v
		}
		if v := p.getenv(o.env()); v != "" {
			c.values[o.name] = value{v, o.env()}
		}
		if v, ok := flags[o.name]; ok {
			c.values[o.name] = value{v, "--" + o.flag()}
		}
		v := c.values[o.name]
		if v.text == "" && o.value == "" {
			v.text = o.def
		}
		if err := o.set(&c.settings, v.text); err != nil {
			shown := fmt.Sprintf("%q ", redact(v.text))
			if o.hidden {
				shown = "its value "
			}
			errs = append(errs, invalid("braid help options tells what it takes", "%s: %s%s", v.source, shown, err))
			_ = o.set(&c.settings, o.def)
		}
	}
	if c.Data == "" {
		// An error here is told when the folder is needed.
		c.Data, _ = p.dataDir()
		c.values["data"] = value{c.Data, "default"}
	}
	return c, errs
}

// configPath says which file is read, and whether somebody asked for it.
func (p *system) configPath(flag string) (path string, asked bool) {
	if flag != "" {
		return flag, true
	}
	if v := p.getenv(configEnv); v != "" {
		return v, true
	}
	dir, err := p.configDir()
	if err != nil {
		return "", false
	}
	return filepath.Join(dir, "braid", "config.yaml"), false
}

// readFile reads the file's layer. A file that nobody asked for may be missing.
func (c *config) readFile(p *system, flag string) (map[string]value, []error) {
	path, asked := p.configPath(flag)
	c.file, c.Catalogue = path, cataloguePath(path)
	if path == "" {
		return nil, nil
	}
	data, err := readLimited(path, configLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !asked:
		return nil, nil
	case err != nil:
		return nil, []error{configReadError(err)}
	}
	c.found = true
	return parseConfig(data)
}

func configReadError(err error) error {
	e := &event.Error{Kind: event.ErrInvalid, Message: "the configuration file cannot be read", Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Message = event.ErrNotFound, "there is no such configuration file"
		e.Hint = "check the path given with --config or " + configEnv
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = event.ErrPermission, "give yourself the right to read it"
	case errors.Is(err, errTooLarge):
		e.Kind, e.Message = event.ErrTooLarge, "the configuration file is larger than 1 MiB"
		e.Hint = "check that --config or " + configEnv + " names the right file"
	default:
		e.Hint = "check that it is a file, and the path given with --config or " + configEnv
	}
	return e
}

// errTooLarge is what readLimited answers for a file over its limit.
var errTooLarge = errors.New("too large")

func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, errTooLarge
	}
	return data, nil
}

// parseConfig reads a configuration file: one YAML mapping from the names of
// options to plain values, or for a list to a sequence of them. It is strict:
// an unknown or repeated name is an error, not a surprise later. Values of
// unknown names are never repeated in the error; they may be secrets.
func parseConfig(data []byte) (values map[string]value, errs []error) {
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, []error{configSyntax(err)}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, []error{invalid("keep the first one", "the configuration file holds more than one YAML document")}
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, []error{invalid("write lines such as \"model: demo:tour\"", "the configuration file is no list of names and values")}
	}
	values = map[string]value{}
	names := optionNames(func(o *option) string { return o.name })
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		name := key.Value
		source := fmt.Sprintf("the configuration file, line %d", key.Line)
		if key.Kind != yaml.ScalarNode || !slices.Contains(names, name) {
			errs = append(errs, invalid(didYouMean(strings.ReplaceAll(name, "-", "_"), names, "", "braid help options lists what there is"),
				"%s: there is no option %q", source, cleanLine(fit(name, 40))))
			continue
		}
		if _, twice := values[name]; twice {
			errs = append(errs, invalid("keep one of them", "%s: %s is set twice", source, name))
			continue
		}
		text, ok := nodeText(node, separatorOf(name))
		if !ok {
			errs = append(errs, invalid("write a plain value", "%s: %s is no plain value", source, name))
			continue
		}
		if node.Tag == "!!null" {
			continue
		}
		values[name] = value{text, source}
	}
	return values, errs
}

// separatorOf is what stands between the values of an option's list.
func separatorOf(name string) string {
	for i := range options {
		if options[i].name == name {
			return options[i].separator()
		}
	}
	return ","
}

// nodeText is a scalar, or a sequence of scalars joined by a separator.
func nodeText(n *yaml.Node, separator string) (string, bool) {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value, true
	case yaml.SequenceNode:
		var parts []string
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return "", false
			}
			parts = append(parts, c.Value)
		}
		return strings.Join(parts, separator), true
	}
	return "", false
}

// configSyntax keeps the line that the YAML reader names.
func configSyntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	return invalid("mend the line that is named; a value with \": \" or \"#\" in it needs quotes",
		"the configuration file is not YAML: %s", cleanLine(fit(text, 120)))
}

// catalogueFile is beside the configuration file. Only braid models --refresh writes it.
const catalogueFile = "catalogue.yaml"

// cataloguePath is where the refreshed catalogue is kept; "" where there is no folder for settings.
func cataloguePath(configFile string) string {
	if configFile == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(configFile), catalogueFile)
}
