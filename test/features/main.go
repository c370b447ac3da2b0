// Command features prints the table of providers and features, from a run of the
// contract of models:
//
//	go run ./test/features                                 prints it
//	go run ./test/features -write docs/guide/models.md     puts it between the file's marks
//
// A cell is what the tests of [modeltest.Run] have seen, so it cannot say more than
// they show.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"

	"github.com/braidrun/braid/model/modeltest"
)

// The marks in a file between which the table stands.
const (
	begin = "<!-- features: begin, written by make features -->\n"
	end   = "<!-- features: end -->"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "features:", err)
		os.Exit(1) //nolint:forbidigo // a command's main
	}
}

func run(ctx context.Context, args []string, out, failures io.Writer) error {
	flags := flag.NewFlagSet("features", flag.ContinueOnError)
	flags.SetOutput(failures)
	file := flags.String("write", "", "put the table between the marks of this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	packages := flags.Args()
	if len(packages) == 0 {
		packages = []string{"./model/..."}
	}
	seen, failed := contract(ctx, packages, failures)
	if len(seen) == 0 {
		return errors.Join(errors.New("no provider with a name ran the contract"), failed)
	}
	table := modeltest.Markdown(seen)
	if _, err := io.WriteString(out, table); err != nil {
		return err
	}
	if failed != nil || *file == "" {
		return failed // a table with failures is for looking at
	}
	return put(*file, table)
}

// contract runs the contract of all providers in the packages, and gives what was
// seen. The table in the documentation is not looked at: it is to be written.
func contract(ctx context.Context, packages []string, failures io.Writer) (seen []modeltest.Seen, err error) {
	dir, err := os.MkdirTemp("", "features")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	args := []string{"test", "-count=1", "-run", "Contract$", "-skip", "/table_of_features$", "-timeout", "10m"}
	tests := exec.CommandContext(ctx, "go", append(args, packages...)...) //nolint:gosec // the packages are the caller's
	tests.Env = append(os.Environ(), modeltest.FeaturesVariable+"="+dir)
	tests.Stdout, tests.Stderr = failures, failures
	failed := tests.Run()
	seen, err = read(os.DirFS(dir))
	return seen, errors.Join(failed, err)
}

// read reads what the runs have written down.
func read(dir fs.FS) ([]modeltest.Seen, error) {
	files, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, err
	}
	var all []modeltest.Seen
	for _, f := range files {
		b, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		var s modeltest.Seen
		if err := json.Unmarshal(b, &s); err != nil {
			return nil, err
		}
		if s.Provider != "" {
			all = append(all, s)
		}
	}
	return all, nil
}

// put writes the table between the marks of a file.
func put(file, table string) error {
	text, err := os.ReadFile(file) //nolint:gosec // it is the caller's
	if err != nil {
		return err
	}
	text, err = between(text, table)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644) //nolint:gosec // documentation is for all to read
}

func between(text []byte, table string) ([]byte, error) {
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return nil, fmt.Errorf("the file has no marks %q and %q", begin, end)
	}
	return bytes.Join([][]byte{before, []byte(begin), []byte("\n" + table + "\n"), []byte(end), after}, nil), nil
}
