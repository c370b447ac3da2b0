package claude

import (
	"io"
	"time"
)

// Command is the path of the program; by default "claude" of the PATH.
func Command(path string) Option { return func(c *config) { c.process.path = path } }

// Dir is the working folder; by default that of this process.
func Dir(path string) Option { return func(c *config) { c.process.dir = path } }

// AddDirs names more folders that the tools may use.
func AddDirs(paths ...string) Option { return func(c *config) { c.process.dirs = paths } }

// Env adds environment variables in the form NAME=value. It adds to what an earlier Env added.
func Env(variables ...string) Option {
	return func(c *config) { c.process.env = append(c.process.env, variables...) }
}

// CleanEnv has the program inherit PATH and the variables of [Env] only. By default it also inherits those that name the
// user, the language, folders, proxies and certificates, and those of the model's providers: ANTHROPIC_*, CLAUDE_*, AWS_*,
// GOOGLE_* and CLOUD_ML_*.
func CleanEnv() Option { return func(c *config) { c.process.clean = true } }

// Stderr receives what the program writes to its standard error.
func Stderr(w io.Writer) Option { return func(c *config) { c.process.stderr = w } }

// DebugFile has the program write a debug log.
func DebugFile(path string) Option { return func(c *config) { c.process.debug = path } }

// ExtraArgs adds arguments for which there is no option. Arguments can be read by all users of the machine.
func ExtraArgs(args ...string) Option { return func(c *config) { c.process.args = args } }

// StartTimeout bounds how long the program may take to be ready; by default a minute.
func StartTimeout(d time.Duration) Option { return func(c *config) { c.process.starting = d } }

// ControlTimeout bounds how long the program may take to answer a control request; by default a minute.
func ControlTimeout(d time.Duration) Option { return func(c *config) { c.process.asking = d } }
