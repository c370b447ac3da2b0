package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/tool/demotool"
)

// checks lists the checks of the doctor, in order.
var checks = []struct {
	name string
	look func(context.Context, *diagnosis)
}{
	{"build", checkBuild},
	{"config", checkConfig},
	{"env", checkEnvironment},
	{"model", checkModel},
	{"keys", checkKeys},
	{"local", checkLocal},
	{"tools", checkTools},
	{"agents", checkAgents},
	{"scratch", checkScratch},
	{"sandbox", checkSandbox},
	{"data", checkData},
	{"database", checkDatabase},
	{"mcp", checkMCP},
	{"openapi", checkOpenAPI},
	{"disk", checkDisk},
	{"clock", checkClock},
	{"terminal", checkTerminal},
	{"engine", checkEngine},
	{"claude", checkClaude},
}

func checkBuild(_ context.Context, d *diagnosis) {
	d.ok("%s", readBuild())
}

// checkConfig checks the file and all values, from every source.
func checkConfig(_ context.Context, d *diagnosis) {
	defer d.strayConfig()
	for _, err := range d.errs {
		d.brokenBy(err, "braid help options shows the form")
	}
	if _, err := d.p.ConfigDir(); err != nil && d.cfg.File == "" {
		d.note("set HOME, or name a file with --config", "there is no folder for settings, so no configuration file is read")
		return
	}
	if !d.cfg.Found {
		if len(d.errs) == 0 {
			d.ok("there is no configuration file; it is optional")
		}
		return
	}
	if len(d.errs) == 0 {
		d.ok("the configuration file is read: %s", d.cfg.File)
	}
	if info, err := os.Stat(d.cfg.File); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		d.warn("chmod go-w "+d.cfg.File, "other users can change the configuration file, and so redirect your prompts")
	}
	for _, o := range conf.Options {
		if v := d.cfg.Values[o.Name]; term.LooksSecret(v.Text) && strings.HasPrefix(v.Source, "the configuration file") {
			d.warn("take it out, and put keys into the environment", "%s: %s may contain a secret", v.Source, o.Name)
		}
	}
}

// strayConfig reports a configuration file in the working folder, which is not read.
func (d *diagnosis) strayConfig() {
	for _, name := range []string{"braid.yaml", "braid.yml"} {
		if _, err := os.Stat(name); err == nil && filepath.Base(d.cfg.File) != name {
			d.note("braid … --config "+name+", if you trust it", "%s in this folder is not read by itself", name)
		}
	}
}

// otherVariables are the variables of the command that are not options.
var otherVariables = []string{conf.ConfigEnv, postgresEnv, connectionsEnv, secretsEnv, conf.TokenEnv, conf.ServerEnv}

// checkEnvironment reports unknown variables with braid's prefix.
func checkEnvironment(_ context.Context, d *diagnosis) {
	known := append(conf.OptionNames((*conf.Option).Env), otherVariables...)
	set := 0
	for _, pair := range d.p.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case !strings.HasPrefix(name, conf.EnvPrefix):
		case slices.Contains(known, name):
			set++
		default:
			d.warn(term.DidYouMean(name, known, "", "unset it; braid help options lists the names"), "%s is not an option", name)
		}
	}
	d.ok("%d of %d %s variables are set", set, len(known), conf.EnvPrefix+"…")
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		v := d.p.Getenv(name)
		if v == "" {
			continue
		}
		if u, err := url.Parse(v); err != nil || u.Host == "" && !strings.Contains(v, ":") {
			d.warn("write it as http://host:port, or unset it", "%s is not an address, so no provider can be reached", name)
		}
	}
}

func checkModel(_ context.Context, d *diagnosis) {
	model, err := d.p.openModel(&d.cfg.Settings, d.cfg.Model)
	if err != nil {
		d.brokenBy(err, "braid help models explains names of models")
		return
	}
	info := model.Info()
	switch {
	case !info.Simulated:
		d.ok("%s is ready; only a call can check its key", modelWords(info))
	case d.cfg.Model == "":
		d.note("braid models lists what can be used; name it with --model",
			"no model is chosen, so a simulated one answers: %s", info.Name)
	default:
		d.ok("%s", modelWords(info))
	}
	others, err := d.p.fallbacks(&d.cfg.Settings, model, nil)
	if err != nil {
		d.brokenBy(err, "braid models lists what can be used")
		return
	}
	for _, m := range others {
		d.ok("%s is its fallback", term.CleanLine(m.Info().Name))
	}
	if err := d.p.trial(&d.cfg.Settings, model, others); err != nil {
		d.brokenBy(err, "braid help options tells the form")
	}
}

// checkKeys reports the provider keys that are set.
func checkKeys(_ context.Context, d *diagnosis) {
	found := models.Detect(func(name string) string {
		if name == models.Variable {
			return "" // the choice does not matter here
		}
		return d.p.Getenv(name)
	}, "")
	for i, key := range found.Keys {
		if v := d.p.Getenv(key); strings.TrimSpace(v) != v {
			d.warn("set it again without them", "%s begins or ends with blanks or a line break", key)
		}
		if i < len(found.Notes) {
			d.note("braid models lists what can be used", "%s", found.Notes[i])
		}
	}
	switch {
	case len(found.Keys) == 0:
		d.ok("no provider's key is set")
	case len(found.Notes) < len(found.Keys):
		d.ok("%s set", strings.Join(found.Keys, ", "))
	}
}

// checkLocal finds model servers on this machine. Braid offers them, and never chooses one itself.
func checkLocal(ctx context.Context, d *diagnosis) {
	servers := d.p.localServers(ctx)
	for _, s := range servers {
		d.note("braid models lists its models", "%s", s.Offer())
	}
	if len(servers) == 0 {
		d.ok("no model server answers on this machine's usual ports")
	}
}

// checkTools checks descriptions: the model has to guess an argument without one.
func checkTools(_ context.Context, d *diagnosis) {
	dir, err := os.MkdirTemp("", "braid-doctor-")
	if err != nil {
		return // checkScratch reports it
	}
	defer d.p.onExit(func() { _ = os.RemoveAll(dir) })()
	tools, closeTools, err := d.p.openTools(conf.ToolNames, dir, "")
	if err != nil {
		d.brokenBy(err, "")
		return
	}
	defer closeTools()
	d.lookAtTools(tools)
}

func (d *diagnosis) lookAtTools(tools []braid.Tool) {
	before := len(d.findings)
	var names []string
	for _, t := range tools {
		spec := t.Spec()
		names = append(names, spec.Name)
		if strings.TrimSpace(spec.Description) == "" {
			d.warn("say in a sentence what it does", "the tool %s has no description", spec.Name)
		}
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			d.broken(event.ErrInvalid, "give it a JSON schema of an object", "the schema of the tool %s is not a JSON schema", spec.Name)
			continue
		}
		var silent []string
		for name, raw := range schema.Properties {
			var p struct {
				Description string `json:"description"`
			}
			if json.Unmarshal(raw, &p) != nil || p.Description == "" {
				silent = append(silent, name)
			}
		}
		if len(silent) > 0 {
			slices.Sort(silent)
			d.warn("add a jsonschema tag to each field", "the tool %s has arguments without a description: %s", spec.Name, strings.Join(silent, ", "))
		}
	}
	if len(d.findings) == before {
		d.ok("%s describe their arguments", strings.Join(names, ", "))
	}
}

// checkScratch tries to write in the folder of the files tool.
func checkScratch(_ context.Context, d *diagnosis) {
	dir, next := d.cfg.Scratch, "name another with --scratch, or give yourself the right to write there"
	what := "the scratch folder"
	if dir == "" {
		dir, what, next = os.TempDir(), "the folder for temporary files", "set TMPDIR to a folder that you can write to, or use --scratch"
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.cfg.Scratch != "":
		parent := nearestFolder(dir)
		if err := tryWrite(parent); err != nil {
			d.broken(kindOfWrite(err), next, "%s is not there and cannot be made", what)
			return
		}
		d.ok("%s is not there yet and will be made", what)
		return
	case errors.Is(err, fs.ErrNotExist):
		d.broken(event.ErrNotFound, next, "%s is not there", what)
		return
	case err != nil:
		d.broken(event.ErrPermission, next, "%s cannot be looked at", what)
		return
	case !info.IsDir():
		d.broken(event.ErrInvalid, next, "%s is not a folder", what)
		return
	}
	if err := tryWrite(dir); err != nil {
		d.broken(kindOfWrite(err), next, "%s cannot be written to", what)
		return
	}
	d.ok("%s can be written to", what)
}

// checkData checks the folder of conversations: whether it is writable, whether its conversations can be
// read, and which process uses it.
func checkData(ctx context.Context, d *diagnosis) {
	dir, next := d.cfg.Data, "name another with --data, or give yourself the right to write there"
	if dir == "" {
		d.warn("set HOME, or name a folder with --data", "there is no folder for your data, so conversations are kept in memory only")
		return
	}
	if d.cfg.Ephemeral {
		d.note("take "+d.cfg.Values["ephemeral"].Source+" back to keep conversations", "conversations are not kept")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := tryWrite(nearestFolder(dir)); err != nil {
			d.broken(kindOfWrite(err), next, "the data folder is not there and cannot be made: %s", dir)
			return
		}
		d.ok("the data folder is not there yet and will be made: %s", dir)
		return
	case errors.Is(err, syscall.ENOTDIR):
		d.broken(event.ErrInvalid, "name another with --data", "the data folder would be inside a file: %s", dir)
		return
	case err != nil:
		d.broken(event.ErrPermission, next, "the data folder cannot be looked at: %s", dir)
		return
	case !info.IsDir():
		d.broken(event.ErrInvalid, "name another with --data", "the data folder is not a folder: %s", dir)
		return
	}
	if err := tryWrite(dir); err != nil {
		d.broken(kindOfWrite(err), next, "the data folder cannot be written to: %s", dir)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		d.warn("chmod 700 "+dir, "other users can read the data folder: %s", dir)
	}
	if free, err := d.p.freeSpace(dir); err == nil && free < diskBroken {
		d.broken(event.ErrStorageFull, "free some space, or name another folder with --data",
			"there are %d MiB left to write in the data folder", free>>20)
	}
	d.lookIntoData(ctx, dir)
}

// maxConversationsRead is the number of conversations that the doctor reads, the newest first.
const maxConversationsRead = 50

func (d *diagnosis) lookIntoData(ctx context.Context, dir string) {
	if pid, owned := sqlite.Owner(dir); owned {
		d.note("wait for it to end, or name another folder with --data, where more than one is to be kept at a time",
			"process %d is at work in the data folder: what others say meanwhile is kept in memory only", pid)
	}
	a, err := d.p.openArchive(d.cfg)
	if term.KindOf(err) == event.ErrNotFound {
		d.ok("nothing is kept yet in %s", dir)
		return
	}
	var found []journal.Summary
	if err == nil {
		defer a.Close()
		found, err = a.Conversations(ctx, conf.Tenant, "", 0)
		err = storeError(err)
	}
	if err != nil {
		message, hint := term.Describe(err)
		d.broken(term.KindOf(err), strings.TrimSuffix(hint, whichFolder), "%s: %s", message, dir)
		return
	}
	d.ok("%s holds %d of your conversations", dir, len(found))
	for i := range found[:min(len(found), maxConversationsRead)] {
		c := &found[i]
		_, err := a.Read(ctx, c.ID, 0, 0)
		if err == nil {
			_, err = a.Runs(ctx, c.ID, 0, 0)
		}
		if err != nil {
			message, _ := term.Describe(storeError(err))
			d.warn("restore a backup of the folder, or leave it: other conversations are not affected",
				"the conversation %s cannot be read: %s", printer.ShortID(c.ID), message)
		}
	}
	d.lookIntoBlobs(ctx, a)
}

// maxBlobBytes bounds the stored bytes that the doctor reads.
const maxBlobBytes = 64 << 20

func (d *diagnosis) lookIntoBlobs(ctx context.Context, a *sqlite.Reader) {
	damaged, err := a.CheckBlobs(ctx, maxConversationsRead, maxBlobBytes)
	if err != nil {
		message, hint := term.Describe(storeError(err))
		d.warn(strings.TrimSuffix(hint, whichFolder), "stored files cannot be read: %s", message)
	}
	if len(damaged) > 0 {
		d.warn("restore a backup of the folder, or leave it: other files are not affected",
			"%d stored files are damaged, the first one is %s", len(damaged), damaged[0])
	}
}

// nearestFolder returns the first existing folder above path.
func nearestFolder(path string) string {
	path, err := filepath.Abs(path)
	for err == nil {
		parent := filepath.Dir(path)
		if _, err := os.Stat(parent); err == nil || parent == path {
			return parent
		}
		path = parent
	}
	return "."
}

// tryWrite creates and removes a file in dir.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".braid-doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("braid")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func kindOfWrite(err error) event.ErrorKind {
	if errors.Is(err, syscall.ENOSPC) {
		return event.ErrStorageFull
	}
	return event.ErrPermission
}

// Thresholds of free space: below the first one nothing works reliably, below the second one a long job may
// fill the disk.
const (
	diskBroken  = 16 << 20
	diskWarning = 256 << 20
)

func checkDisk(_ context.Context, d *diagnosis) {
	dir := d.cfg.Scratch
	if dir == "" {
		dir = os.TempDir()
	} else if _, err := os.Stat(dir); err != nil {
		dir = nearestFolder(dir)
	}
	free, err := d.p.freeSpace(dir)
	next := "free some space, or name another folder with --scratch"
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		d.note("look at it yourself", "the free space is not known on this system")
	case err != nil:
		d.warn("look at the scratch finding above", "the free space cannot be read")
	case free < diskBroken:
		d.broken(event.ErrStorageFull, next, "there are %d MiB left to write", free>>20)
	case free < diskWarning:
		d.warn(next, "there are only %d MiB left to write", free>>20)
	default:
		d.ok("there are %d MiB left to write", free>>20)
	}
}

// earliest is a time in the past. A clock before it is wrong, and certificates, leases and logs depend on
// the clock.
var earliest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func checkClock(_ context.Context, d *diagnosis) {
	now := d.p.Now()
	floor := earliest
	if built, err := time.Parse(time.RFC3339, readBuild().Time); err == nil && built.After(floor) {
		floor = built
	}
	switch {
	case now.Before(floor.Add(-24 * time.Hour)):
		d.broken(event.ErrUnavailable, "set the clock; providers refuse connections under a wrong one",
			"the clock says %s, which is before this program was made", now.Format(time.DateOnly))
	case now.After(floor.AddDate(30, 0, 0)):
		d.broken(event.ErrUnavailable, "set the clock; providers refuse connections under a wrong one",
			"the clock says %s, which cannot be", now.Format(time.DateOnly))
	default:
		d.ok("the clock says %s", now.Format("2006-01-02 15:04 MST"))
	}
	if tz := d.p.Getenv("TZ"); tz != "" {
		if _, err := time.LoadLocation(strings.TrimPrefix(tz, ":")); err != nil {
			d.warn("set TZ to a name such as Asia/Tokyo", "TZ is not a time zone, so times are shown in UTC")
		}
	}
}

func checkTerminal(_ context.Context, d *diagnosis) {
	s := d.p.NewScreen(d.p.Stdout, d.cfg.Color)
	if !s.Terminal {
		d.ok("the output is not a terminal: plain text without colours")
		return
	}
	if t := d.p.Getenv("TERM"); t == "" || t == "dumb" {
		d.warn("set TERM, for example to xterm-256color", "TERM describes a terminal that cannot move its cursor, so lines cannot be edited")
	}
	if s.Width < 40 {
		d.warn("make the window wider", "the terminal has only %d columns, so cards are cut short", s.Width)
	}
	if !s.Symbols {
		d.warn("set LANG to a UTF-8 locale such as C.UTF-8", "the locale is not UTF-8, so frames are drawn in ASCII and other scripts may not show")
	}
	colour := "colours"
	if !s.Colour {
		colour = "no colours"
	}
	d.ok("%d columns, %s", s.Width, colour)
}

// checkEngine runs a scripted model with the calculator: the loop, the log and a tool, in this process.
func checkEngine(ctx context.Context, d *diagnosis) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	model, err := demo.Load("assistant")
	if err != nil {
		d.brokenBy(err, reinstall)
		return
	}
	d.tryEngine(ctx, model)
}

const reinstall = "install braid again, and report it if that does not help"

func (d *diagnosis) tryEngine(ctx context.Context, model braid.Model) {
	start := time.Now()
	res, err := braid.New("doctor", model, braid.Tools(demotool.Calculator())).Run(ctx, "What is 6 times 7?")
	switch {
	case err != nil:
		message, _ := term.Describe(err)
		d.broken(term.KindOf(err), reinstall, "a trial run failed: %s", message)
	case res.Metrics.ToolCalls == 0 || !strings.Contains(res.Text(), "42"):
		d.broken(event.ErrInternal, reinstall, "a trial run gave a wrong answer")
	default:
		d.ok("a trial run with a tool took %s", printer.Short(time.Since(start)))
	}
}
