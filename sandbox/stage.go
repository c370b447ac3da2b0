//go:build linux && (amd64 || arm64)

package sandbox

import "time"

// A sandbox has two stages, which are this program again. The keeper is the first process of the new namespaces; it makes
// the file system, starts the second stage and watches. The second stage gives up all rights and becomes the command.
//
// The stages are told apart by their names, which no shell and no user gives a program by accident.
const (
	keeperName  = "\x01braid-sandbox-keeper"
	commandName = "\x01braid-sandbox-command"
)

// The files that a stage inherits besides its output.
const (
	// setupFile holds the stage's setup, as JSON. For the keeper it stays open as long as the program lives that called Run.
	setupFile = 3
	// reportFile takes the stage's report.
	reportFile = 4
)

// setup is what a stage is told.
type setup struct {
	Args      []string `json:"args"`
	Env       []string `json:"env"`
	Folder    string   `json:"folder"`
	ReadOnly  bool     `json:"read_only"`
	Protected []string `json:"protected"`
	Dir       string   `json:"dir"`
	Readable  []string `json:"readable"`
	Limits    Limits   `json:"limits"`
	Least     Level    `json:"least"`
}

// report is what a stage tells: the second stage and a failing keeper one, a keeper that has started the command two.
type report struct {
	// Level is how strong the sandbox is, Landlock the kernel's version of it.
	Level    Level `json:"level"`
	Landlock int   `json:"landlock"`
	// Failed says what the system refused while the sandbox was made; empty if nothing was. Missing says that a path of
	// the options does not exist.
	Failed  string `json:"failed"`
	Missing bool   `json:"missing"`
	// Ended is set after the command's end.
	Ended   bool          `json:"ended"`
	Code    int           `json:"code"`
	Signal  int           `json:"signal"`
	Stopped Stop          `json:"stopped"`
	CPU     time.Duration `json:"cpu"`
}
