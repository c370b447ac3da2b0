// Package lazyre compiles regular expressions when they are first used, instead of when the
// program starts: the providers of models have some 150, which took 9 of the 16 ms that the
// command needed before main, and 5 MB.
package lazyre

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a [regexp.Regexp] that is compiled at its first use. It is safe for concurrent
// use.
type Regexp struct {
	expression string
	once       sync.Once
	re         *regexp.Regexp
}

func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.re, _ = regexp.Compile(r.expression) })
	if r.re == nil {
		return regexp.MustCompile(r.expression) // which panics, and says why
	}
	return r.re
}

// testing says that a test runs: there a wrong expression panics at once.
var testing = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New makes the expression. An expression that cannot be compiled panics at its first use,
// and in tests at once.
func New(expression string) *Regexp {
	r := &Regexp{expression: expression} // one object: there are hundreds of them
	if testing {
		r.compiled()
	}
	return r
}

// MatchString is that of [regexp.Regexp], as are the other methods.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// Match is that of [regexp.Regexp].
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// FindString is that of [regexp.Regexp].
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindStringIndex is that of [regexp.Regexp].
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindAllStringSubmatchIndex is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

// FindAllStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

// FindStringSubmatchIndex is that of [regexp.Regexp].
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// ReplaceAllString is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllString(s, by string) string {
	return r.compiled().ReplaceAllString(s, by)
}

// ReplaceAllStringFunc is that of [regexp.Regexp].
func (r *Regexp) ReplaceAllStringFunc(s string, by func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, by)
}

// String is the expression.
func (r *Regexp) String() string { return r.expression }

// FindAllString is that of [regexp.Regexp].
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// Split is that of [regexp.Regexp].
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
