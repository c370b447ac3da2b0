// Package instrument adds points at which tests kill the process, and bugs that tests must find,
// to copies of the code. The go command builds the copies by an overlay, so production files hold
// neither.
//
// The edits are in edits.go. The tests of this package fail if an edit no longer fits the code.
package instrument

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is the import path of the packages failpoint and planted.
const module = "github.com/braidrun/braid/test/instrument/"

// Overlay writes the changed copies into dir and returns the file for the go command's flag
// -overlay. top is the module's folder.
func Overlay(top, dir string) (string, error) {
	top, err := filepath.Abs(top)
	if err != nil {
		return "", err
	}
	c := NewCopies(top)
	var misfits []error
	for _, e := range slices.Concat(points, bugs) {
		misfits = append(misfits, c.Apply(e))
	}
	if err := errors.Join(misfits...); err != nil {
		return "", err
	}
	return c.write(dir, map[string]string{filepath.Join(top, "cmd", "braid", "driven.go"): driven})
}

// Write writes the changed copies into dir and returns the file for the go command's flag -overlay.
func (c *Copies) Write(dir string) (string, error) { return c.write(dir, nil) }

// write also adds files that are in no folder of the module.
func (c *Copies) write(dir string, more map[string]string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	changed := c.changed()
	maps.Copy(changed, more)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(changed)) {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%02d_%s", i, filepath.Base(path)))
		if err := os.WriteFile(replace[path], []byte(changed[path]), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}

// Copies holds changed copies of the code.
type Copies struct {
	top   string
	files map[string]map[string]string // by folder, then by path
}

// NewCopies returns copies that are not changed yet. top is the module's folder, an absolute path.
func NewCopies(top string) *Copies {
	return &Copies{top: top, files: map[string]map[string]string{}}
}

// Apply changes one copy. It fails if the text does not occur exactly once in the folder's copies.
func (c *Copies) Apply(e Edit) error {
	if c.files[e.Dir] == nil {
		in, err := read(filepath.Join(c.top, filepath.FromSlash(e.Dir)))
		if err != nil {
			return err
		}
		c.files[e.Dir] = in
	}
	return e.apply(c.files[e.Dir])
}

// changed returns the changed files by path.
func (c *Copies) changed() map[string]string {
	changed := map[string]string{}
	for _, in := range c.files {
		for path, text := range in {
			if with := withImports(text); with != text {
				changed[path] = with
			}
		}
	}
	return changed
}

// read returns the files of a folder, without tests.
func read(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	in := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path) //nolint:gosec // it is a file of this module
		if err != nil {
			return nil, err
		}
		in[path] = string(text)
	}
	return in, err
}

// apply changes the one file that contains the text.
func (e Edit) apply(files map[string]string) error {
	found := ""
	for path, text := range files {
		switch n := strings.Count(text, e.Old); {
		case n == 1 && found == "":
			found = path
		case n > 0:
			return fmt.Errorf("%s: %q stands in more than one place", e.Dir, e.Old)
		}
	}
	if found == "" {
		return fmt.Errorf("%s: %q stands nowhere", e.Dir, e.Old)
	}
	files[found] = strings.Replace(files[found], e.Old, e.New, 1)
	return nil
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// withImports adds the imports of the edits, on the line of the package clause.
func withImports(text string) string {
	clause := packageClause.FindString(text)
	with := clause
	var withSb125 strings.Builder
	for _, name := range []string{"failpoint", "planted"} {
		if strings.Contains(text, name+".") && !strings.Contains(text, module+name) {
			withSb125.WriteString(`; import "` + module + name + `"`)
		}
	}
	with += withSb125.String()
	return strings.Replace(text, clause, with, 1)
}
