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

// The configuration has three layers over the defaults: file, environment, flags. The later one wins. Each
// value keeps its source, for errors and `braid config`.
//
// The file is the one of --config or BRAID_CONFIG, otherwise braid/config.yaml in the user's folder for
// settings. Braid never reads a file in the working folder by itself: a folder of somebody else must not
// choose the receiver of a key and a prompt.

// configLimit is the maximum size of the configuration file in bytes.
const configLimit = 1 << 20

// ConfigEnv is the variable with the path of the configuration file. It is not an option, because a file
// cannot name itself.
const ConfigEnv = EnvPrefix + "CONFIG"

// value is the value of one option in one layer.
type value struct {
	Text string
	// Source is the layer: "default", "--model", "BRAID_MODEL" or "the configuration file, line 3".
	Source string
}

// Config is the merged configuration with the source of each value.
type Config struct {
	Settings
	// Values has an entry for each option, by name.
	Values map[string]value
	// File is the path of the configuration file; Found reports whether it exists.
	File  string
	Found bool
}

// LoadConfig merges the layers. flags holds the options on the command line, by name; path is the value of
// --config, or "". It returns the first error, and a Config with all valid values also then.
func (sys *System) LoadConfig(flags map[string]string, path string) (*Config, error) {
	c, errs := sys.ReadConfig(flags, path)
	if len(errs) > 0 {
		return c, errs[0]
	}
	return c, nil
}

// ReadConfig is LoadConfig with all errors, for `braid doctor`.
func (sys *System) ReadConfig(flags map[string]string, path string) (*Config, []error) {
	c := &Config{Values: map[string]value{}}
	var errs []error
	for _, o := range Options {
		c.Values[o.Name] = value{o.Def, "default"}
	}
	fromFile, err := c.readFile(sys, path)
	errs = append(errs, err...)
	for i := range Options {
		o := &Options[i]
		if v, ok := fromFile[o.Name]; ok {
			c.Values[o.Name] = v
		}
		if v := sys.Getenv(o.Env()); v != "" {
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
		// The commands that need the folder report its error.
		c.Data, _ = sys.DataDir()
		c.Values["data"] = value{c.Data, "default"}
	}
	return c, errs
}

// configPath returns the path of the file, and whether the user named it.
func (sys *System) configPath(flag string) (path string, asked bool) {
	if flag != "" {
		return flag, true
	}
	if v := sys.Getenv(ConfigEnv); v != "" {
		return v, true
	}
	dir, err := sys.ConfigDir()
	if err != nil {
		return "", false
	}
	return filepath.Join(dir, "braid", "config.yaml"), false
}

// readFile reads the layer of the file. A file that the user did not name may be missing.
func (c *Config) readFile(p *System, flag string) (map[string]value, []error) {
	path, asked := p.configPath(flag)
	c.File, c.Catalogue = path, CataloguePath(path)
	if path == "" {
		return nil, nil
	}
	data, err := ReadLimited(path, configLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !asked:
		return nil, nil
	case err != nil:
		return nil, []error{configReadError(err)}
	}
	c.Found = true
	return parseConfig(data)
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

// ErrTooLarge is the error of ReadLimited for a file over its limit.
var ErrTooLarge = errors.New("too large")

// ReadLimited reads a file of at most limit bytes.
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

// parseConfig reads a configuration file: a YAML mapping from names of options to plain values, or to
// sequences of them for lists. An unknown or repeated name is an error. Errors never contain values of
// unknown names; they may be secrets.
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
		return nil, []error{term.Invalid("keep the first one", "the configuration file holds more than one YAML document")}
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, []error{term.Invalid("write lines such as \"model: demo:tour\"", "the configuration file is not a list of names and values")}
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
			errs = append(errs, term.Invalid("write a plain value", "%s: %s is not a plain value", source, name))
			continue
		}
		if node.Tag == "!!null" {
			continue
		}
		values[name] = value{text, source}
	}
	return values, errs
}

// separatorOf returns the separator of an option's list.
func separatorOf(name string) string {
	for i := range Options {
		if Options[i].Name == name {
			return Options[i].separator()
		}
	}
	return ","
}

// nodeText returns the text of a scalar, or of a sequence of scalars joined by separator.
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

// configSyntax returns the error for a file that is not YAML, with the line number.
func configSyntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	return term.Invalid("correct the named line; a value with \": \" or \"#\" in it needs quotes",
		"the configuration file is not YAML: %s", term.CleanLine(term.Fit(text, 120)))
}

// CatalogueFile is a file beside the configuration file. Only braid models --refresh writes it.
const CatalogueFile = "catalogue.yaml"

// CataloguePath returns the path of the refreshed catalogue, or "" without a folder for settings.
func CataloguePath(configFile string) string {
	if configFile == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(configFile), CatalogueFile)
}
