package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/cassette"
	"github.com/braidrun/braid/secret"
)

// recordingFlags are the flags of commands that record and replay model calls.
func recordingFlags() []conf.Flag {
	return []conf.Flag{
		{Name: "record", Value: "FILE", Help: "record the model's answers in a new file, keys hidden, to replay them later"},
		{Name: "overwrite", Help: "let --record replace an existing file"},
		{
			Name: "replay", Value: "FILE",
			Help: "replay a recording: no key, no network, nothing kept; tools really run; the default prompt is the recorded one",
		},
		{Name: "speed", Value: "X", Help: "speed of a --replay: 1 is the recorded speed, 2 is twice as fast, 0 is without delays (0)"},
	}
}

// recording is the state of --record or --replay. The zero value does neither.
type recording struct {
	p        *process
	settings *conf.Settings
	rec      *cassette.Recorder
	// player answers in a replay; plays is the name of the recording.
	player *cassette.Player
	plays  string
	file   *os.File
	name   string
	done   func()
}

// openRecording opens the file of --record or --replay, and the model: the recorded one in a replay.
func (p *process) openRecording(cfg *conf.Config, in *conf.Invocation) (*recording, braid.Model, error) {
	t := &recording{p: p, done: func() {}}
	to, records := in.Flags["record"]
	from, replays := in.Flags["replay"]
	_, goesOn := in.Flags["continue"]
	switch {
	case in.Flags["speed"] != "" && !replays:
		return nil, nil, term.Invalid("give --replay FILE as well", "--speed is about a replay, and there is none")
	case records && replays:
		return nil, nil, term.Invalid("leave one of them out", "--record and --replay do not go together")
	case in.On("overwrite") && !records:
		return nil, nil, term.Invalid("give --record FILE as well", "--overwrite is about a recording, and there is none")
	case records && goesOn:
		return nil, nil, term.Invalid("leave one of them out; a replay could not know what was said before",
			"--record and --continue do not go together")
	case to == "-":
		return nil, nil, term.Invalid("name a file", "a recording goes into a file, not to standard output")
	case replays && goesOn:
		return nil, nil, term.Invalid("leave one of them out", "a replay is kept nowhere, so it cannot go on with a conversation")
	case replays:
		// a replay stores no new conversation
		cfg.Ephemeral = true
		return t.replay(cfg, in, from)
	}
	t.settings = &cfg.Settings
	if program, err := openRuntime(cfg, in); err != nil || program != nil {
		return t, program, err
	}
	model, err := p.openModel(&cfg.Settings, cfg.Model)
	if err != nil || !records {
		return t, model, err
	}
	create := cassette.Create
	if in.On("overwrite") {
		create = cassette.Overwrite
	}
	if t.file, err = create(to); err != nil {
		if term.KindOf(err) == event.ErrConflict {
			err = term.Invalid("give another name, or --overwrite as well",
				"there is a file already where --record is to write, and it is left as it is")
		}
		return nil, nil, err
	}
	t.name = to
	t.rec = cassette.Record(model, t.file, cassette.Secrets(p.secrets(&cfg.Settings)...))
	t.done = p.onExit(func() {
		_ = t.file.Close() // the recording is complete already
		if t.rec.Calls() == 0 {
			_ = os.Remove(to)
		}
	})
	return t, t.rec, nil
}

// replay opens a recording.
func (t *recording) replay(cfg *conf.Config, in *conf.Invocation, from string) (*recording, braid.Model, error) {
	speed, err := replaySpeed(in.Flags["speed"])
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	told := 0
	known := cassette.Secrets(t.p.secrets(&cfg.Settings)...)
	t.player, err = cassette.Open(from, cassette.Paced(speed), known, cassette.Drifting(func(d cassette.Drift) {
		mu.Lock()
		defer mu.Unlock()
		if told++; told <= 5 {
			fmt.Fprintf(t.p.Stderr, "braid: the tool %s gave %s, and %s when it was recorded; the recorded answers go on\n",
				term.CleanLine(d.Tool), term.CleanLine(d.Is), term.CleanLine(d.Was))
		}
	}))
	if err != nil {
		return nil, nil, err
	}
	t.plays = from
	model := t.player
	if ref, named := in.Options["model"]; named && strings.TrimSpace(ref) != "" {
		if model, err = t.player.Model(strings.TrimSpace(ref)); err != nil {
			return nil, nil, err
		}
	}
	cfg.Model = model.Info().Name
	return t, model, nil
}

// replaySpeed parses a replay's speed.
func replaySpeed(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 1000) {
		return 0, term.Invalid("use a number such as 1 or 0.5", "--speed: %q is no pace", term.Fit(text, 40))
	}
	return x, nil
}

// open opens another model for the same conversation.
func (t *recording) open(ref string) (braid.Model, error) {
	if t.player != nil {
		return t.player.Model(ref)
	}
	model, err := t.p.openModel(t.settings, ref)
	if err == nil && t.rec != nil {
		model = t.rec.Also(model)
	}
	return model, err
}

// inputs returns the recorded inputs of a replay, for a command without a prompt; nil if it is
// not a replay or they are unknown.
func (t *recording) inputs() []string {
	if t.player == nil {
		return nil
	}
	inputs := t.player.Inputs()
	for _, text := range inputs {
		if strings.TrimSpace(text) == "" {
			return nil
		}
	}
	return inputs
}

// say reports on standard error, before the first output, that this is a replay.
func (t *recording) say(s *conf.Settings) error {
	if t.player == nil {
		return nil
	}
	words := "This is a replay of " + term.CleanLine(t.plays) + ": " + term.CleanLine(t.player.Info().Name) +
		" is not asked, its recorded answers come again; tools run really."
	if t.player.Truncated() {
		words += "\n  The end of the recording is missing."
	}
	screen := t.p.NewScreen(t.p.Stderr, s.Color)
	_, err := t.p.Stderr.Write(append(screen.Paint(nil, term.Yellow, words), '\n'))
	return term.OutputError(err)
}

// end reports the result of a recording or replay after the last output. err is the error of the
// command.
func (t *recording) end(err error, quiet bool) error {
	switch {
	case t.rec != nil:
		lost := t.rec.Err()
		t.done()
		if lost != nil {
			if err == nil {
				return lost
			}
			return err
		}
		if n := t.rec.Calls(); !quiet && n > 0 {
			fmt.Fprintf(t.p.Stderr, "(recorded %s in %s; braid run --replay plays it)\n", plural(n, "model call", "model calls"),
				term.CleanLine(t.name))
		}
	case t.player != nil && err == nil:
		if n := t.player.Left(); n > 0 {
			fmt.Fprintf(t.p.Stderr, "braid: the recording has %s more that nobody asked for\n", plural(n, "model call", "model calls"))
		}
	}
	return err
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// noRecording refuses the flags of recordings together with --server.
func noRecording(in *conf.Invocation) error {
	for _, name := range []string{"record", "replay"} {
		if _, given := in.Flags[name]; given {
			return term.Invalid("leave --server out, so that the model is asked from here, or leave out --"+name,
				"--%s does not go with --server: the model's answers are the server's", name)
		}
	}
	if name, given := in.Flags["runtime"]; given && name != "native" {
		return term.Invalid("leave one of them out", "--runtime %s does not go with --server: the server chooses what runs its agents", name)
	}
	for _, name := range []string{"overwrite", "speed"} {
		if in.Flags[name] != "" {
			return term.Invalid("leave it out", "--%s is about a recording, and there is none", name)
		}
	}
	return nil
}

// secrets returns the secrets that must not appear in a recording: variables whose names say that
// they are keys, from the environment and from tool servers, and the headers for tool servers.
func (p *process) secrets(s *conf.Settings) []secret.Secret {
	var found []secret.Secret
	add := func(value string) {
		if len(value) >= 8 {
			found = append(found, secret.New(value))
		}
	}
	for _, pair := range p.Environ() {
		if name, value, _ := strings.Cut(pair, "="); namesKey(name) {
			add(value)
		}
	}
	for _, variable := range s.OpenAPIAuth {
		value := p.Getenv(variable)
		add(value)
		if _, password, ok := strings.Cut(value, ":"); ok {
			add(password)
		}
	}
	if s.MCP == "" {
		return found
	}
	servers, err := p.readMCP(s)
	if err != nil {
		return found // starting the servers reports the error
	}
	for i := range servers {
		for name, value := range servers[i].Env {
			if namesKey(name) {
				add(value.Reveal())
			}
		}
		for _, value := range servers[i].Headers {
			text := value.Reveal() // "Bearer …" is one, and so is what stands behind it
			add(text)
			add(text[strings.LastIndexByte(text, ' ')+1:])
		}
	}
	return found
}

// namesKey reports whether a variable's name says that its value is a key.
func namesKey(name string) bool {
	for word := range strings.SplitSeq(strings.ToUpper(name), "_") {
		switch word {
		case "KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PAT", "CREDENTIAL", "CREDENTIALS":
			return true
		}
	}
	return false
}

// replayed runs the turns of a recording.
func (t *repl) replayed(ctx context.Context, inputs []string) error {
	for _, input := range inputs {
		if err := t.turn(ctx, input); err != nil {
			return err
		}
	}
	return nil
}
