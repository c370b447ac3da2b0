package models

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/nearest"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

// openDemo opens "", "tour" or "./file.yaml", each with settings after a "?".
func openDemo(g *opening) (model.Model, error) {
	name := g.name
	opts, err := demoOptions(g.query)
	if err != nil {
		return nil, err
	}
	if g.trusted && isPath(name) {
		return demoFile(name, opts)
	}
	m, err := demo.Load(name, opts...)
	if errors.Is(err, event.ErrModelNotFound) {
		return nil, unknownScript(name)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func unknownScript(name string) error {
	e := &event.Error{Op: op, Kind: event.ErrModelNotFound, Message: "there is no such demo script", Hint: have()}
	if shown := presentable(name); shown != "" {
		e.Message = "there is no demo script \"" + shown + "\""
	}
	if s := nearest.Word(strings.ToLower(name), demo.Scripts()); s != "" {
		e.Hint = "did you mean demo:" + s + "? " + e.Hint
	}
	return e
}

// isPath reports whether a name is the path of a script's file. Only an obvious path is one.
func isPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(name)))
}

func demoFile(path string, opts []demo.Option) (model.Model, error) {
	problem := func(kind event.ErrorKind, message string, err error) error {
		return &event.Error{Op: op, Kind: kind, Message: message, Hint: "name a YAML file after demo:, such as demo:./script.yaml", Err: err}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, problem(event.ErrModelNotFound, "there is no demo script of that path", err)
	case err != nil:
		return nil, problem(event.ErrPermission, "the demo script cannot be read", err)
	case !info.Mode().IsRegular():
		return nil, problem(event.ErrInvalid, "the demo script is no file", nil)
	}
	file, err := os.Open(path) //nolint:gosec // the path is the operator's own; see Open
	if err != nil {
		return nil, problem(event.ErrPermission, "the demo script cannot be read", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, demo.MaxScript+1))
	if err != nil {
		return nil, problem(event.ErrUnavailable, "the demo script cannot be read", err)
	}
	s, err := demo.Parse(scriptName(path), data)
	if err != nil {
		return nil, err
	}
	m, err := demo.New(s, opts...)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// scriptName returns a script's name from its file's.
func scriptName(path string) string {
	base := filepath.Base(strings.ReplaceAll(path, `\`, "/"))
	base = strings.TrimSuffix(base, filepath.Ext(base))
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, base)
	if len(name) > 64 {
		name = name[:64]
	}
	return name
}

// demoOptions reads "speed=1&first_byte=300ms&rate=50&characters=4" and a fault:
// "fault=throttled&attempts=2&cycle=1&after=3&retry_after=1s&size=100".
func demoOptions(query string) ([]demo.Option, error) {
	if query == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, wrongSetting("they are no list of name=value")
	}
	var (
		opts  []demo.Option
		pace  demo.Timing
		fault demo.Fault
	)
	number := func(into func(float64)) func(string) bool {
		return func(s string) bool {
			v, err := strconv.ParseFloat(s, 64)
			into(v)
			return err == nil && v >= 0 && v <= 1e9
		}
	}
	whole := func(into *int) func(string) bool {
		return func(s string) (ok bool) {
			v, err := strconv.Atoi(s)
			*into = v
			return err == nil
		}
	}
	duration := func(into *time.Duration) func(string) bool {
		return func(s string) bool {
			v, err := time.ParseDuration(s)
			*into = v
			return err == nil
		}
	}
	var characters int
	settings := map[string]func(string) bool{
		"speed":       number(func(v float64) { opts = append(opts, demo.Realtime(v)) }),
		"rate":        number(func(v float64) { pace.Rate = v }),
		"first_byte":  duration(&pace.FirstByte),
		"total":       duration(&pace.Total),
		"characters":  whole(&characters),
		"fault":       func(s string) bool { fault.Kind = demo.FaultKind(s); return s != "" },
		"attempts":    whole(&fault.Attempts),
		"cycle":       whole(&fault.Cycle),
		"after":       whole(&fault.After),
		"size":        whole(&fault.Size),
		"retry_after": duration(&fault.RetryAfter),
	}
	for name, given := range values {
		set, ok := settings[name]
		if !ok || len(given) != 1 || !set(given[0]) {
			known := make([]string, 0, len(settings))
			for k := range settings {
				known = append(known, k)
			}
			slices.Sort(known)
			if !ok {
				return nil, wrongSetting("there is no setting of that name; there are " + strings.Join(known, ", "))
			}
			return nil, wrongSetting(name + " has no value that it can have, or stands twice")
		}
	}
	opts = append(opts, demo.Pace(pace), demo.Characters(characters))
	if fault != (demo.Fault{}) {
		opts = append(opts, demo.Faults(fault))
	}
	return opts, nil
}

func wrongSetting(message string) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the settings of the demo model are wrong: " + message,
		Hint: "write them as demo:tour?speed=2&first_byte=300ms",
	}
}
