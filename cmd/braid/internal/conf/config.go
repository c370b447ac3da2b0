package conf

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

	"github.com/braidrun/braid/cmd/braid/internal/term"
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

// ConfigLimit bounds the configuration file.
const ConfigLimit = 1 << 20

// ConfigEnv names the configuration file; it is no option, because a file
// cannot say where it is.
const ConfigEnv = EnvPrefix + "CONFIG"

// value is what one layer says about an option.
type value struct {
	Text string
	// Source is where it comes from: "default", "--model", "BRAID_MODEL" or
	// "the configuration file, line 3".
	Source string
}

// Config is the configuration with where everything comes from.
type Config struct {
	Settings
	// Values has one entry for each option, by name.
	Values map[string]value
	// File is the configuration file that was looked for, found whether it is there.
	File  string
	Found bool
}

// LoadConfig puts the layers together. flags holds what the command line says,
// by option name; path is that of --config, "" where it was not given. The
// error is the first one that matters; the config is what could be understood.
func (p *System) LoadConfig(flags map[string]string, path string) (*Config, error) {
	c, errs := p.ReadConfig(flags, path)
	if len(errs) > 0 {
		return c, errs[0]
	}
	return c, nil
}

// ReadConfig is loadConfig with everything that is wrong, for `braid doctor`.
func (p *System) ReadConfig(flags map[string]string, path string) (*Config, []error) {
	c := &Config{Values: map[string]value{}}
	var errs []error
	for _, o := range Options {
		c.Values[o.Name] = value{o.Def, "default"}
	}
	fromFile, err := c.readFile(p, path)
	errs = append(errs, err...)
	for i := range Options {
		o := &Options[i]
		if v, ok := fromFile[o.Name]; ok {
			c.Values[o.Name] = v
		}
		if v := p.Getenv(o.Env()); v != "" {
			c.Values[o.Name] = value{v, o.Env()}
		}
		if v, ok := flags[o.Name]; ok {
			c.Values[o.Name] = value{v, "--" + o.Flag()}
		}
		v := c.Values[o.Name]
		if v.Text == "" && o.value == "" {
			v.Text = o.Def
		}
		if err := o.Set(&c.Settings, v.Text); err != nil {
			shown := fmt.Sprintf("%q ", term.Redact(v.Text))
			if o.Hidden {
				shown = "its value "
			}
			errs = append(errs, term.Invalid("braid help options tells what it takes", "%s: %s%s", v.Source, shown, err))
			_ = o.Set(&c.Settings, o.Def)
		}
	}
	if c.Data == "" {
		// An error here is told when the folder is needed.
		c.Data, _ = p.DataDir()
		c.Values["data"] = value{c.Data, "default"}
	}
	return c, errs
}

// configPath says which file is read, and whether somebody asked for it.
func (p *System) configPath(flag string) (path string, asked bool) {
	if flag != "" {
		return flag, true
	}
	if v := p.Getenv(ConfigEnv); v != "" {
		return v, true
	}
	dir, err := p.ConfigDir()
	if err != nil {
		return "", false
	}
	return filepath.Join(dir, "braid", "config.yaml"), false
}

// readFile reads the file's layer. A file that nobody asked for may be missing.
func (c *Config) readFile(p *System, flag string) (map[string]value, []error) {
	path, asked := p.configPath(flag)
	c.File, c.Catalogue = path, CataloguePath(path)
	if path == "" {
		return nil, nil
	}
	data, err := ReadLimited(path, ConfigLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !asked:
		return nil, nil
	case err != nil:
		return nil, []error{configReadError(err)}
	}
	c.Found = true
	return ParseConfig(data)
}

func configReadError(err error) error {
	e := &event.Error{Kind: event.ErrInvalid, Message: "the configuration file cannot be read", Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Message = event.ErrNotFound, "there is no such configuration file"
		e.Hint = "check the path given with --config or " + ConfigEnv
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = event.ErrPermission, "give yourself the right to read it"
	case errors.Is(err, ErrTooLarge):
		e.Kind, e.Message = event.ErrTooLarge, "the configuration file is larger than 1 MiB"
		e.Hint = "check that --config or " + ConfigEnv + " names the right file"
	default:
		e.Hint = "check that it is a file, and the path given with --config or " + ConfigEnv
	}
	return e
}

// ErrTooLarge is what readLimited answers for a file over its limit.
var ErrTooLarge = errors.New("too large")

func ReadLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, ErrTooLarge
	}
	return data, nil
}

// ParseConfig reads a configuration file: one YAML mapping from the names of
// options to plain values, or for a list to a sequence of them. It is strict:
// an unknown or repeated name is an error, not a surprise later. Values of
// unknown names are never repeated in the error; they may be secrets.
func ParseConfig(data []byte) (values map[string]value, errs []error) {
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, []error{configSyntax(err)}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, []error{term.Invalid("keep the first one", "the configuration file holds more than one YAML document")}
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, []error{term.Invalid("write lines such as \"model: demo:tour\"", "the configuration file is no list of names and values")}
	}
	values = map[string]value{}
	names := OptionNames(func(o *Option) string { return o.Name })
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		name := key.Value
		source := fmt.Sprintf("the configuration file, line %d", key.Line)
		if key.Kind != yaml.ScalarNode || !slices.Contains(names, name) {
			errs = append(errs, term.Invalid(term.DidYouMean(strings.ReplaceAll(name, "-", "_"), names, "", "braid help options lists what there is"),
				"%s: there is no option %q", source, term.CleanLine(term.Fit(name, 40))))
			continue
		}
		if _, twice := values[name]; twice {
			errs = append(errs, term.Invalid("keep one of them", "%s: %s is set twice", source, name))
			continue
		}
		text, ok := nodeText(node, separatorOf(name))
		if !ok {
			errs = append(errs, term.Invalid("write a plain value", "%s: %s is no plain value", source, name))
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
	for i := range Options {
		if Options[i].Name == name {
			return Options[i].separator()
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
	return term.Invalid("mend the line that is named; a value with \": \" or \"#\" in it needs quotes",
		"the configuration file is not YAML: %s", term.CleanLine(term.Fit(text, 120)))
}

// CatalogueFile is beside the configuration file. Only braid models --refresh writes it.
const CatalogueFile = "catalogue.yaml"

// CataloguePath is where the refreshed catalogue is kept; "" where there is no folder for settings.
func CataloguePath(configFile string) string {
	if configFile == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(configFile), CatalogueFile)
}
