// Package lazyre compiles regular expressions at their first use instead of at program start. The
// model providers have about 150 expressions, which took 9 of the 16 ms and 5 MB before main.
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
		return regexp.MustCompile(r.expression) // panics with the reason
	}
	return r.re
}

// testing is true in a test binary, where an invalid expression panics in [New].
var testing = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New returns the expression. An invalid expression panics at its first use, and in tests at
// once.
func New(expression string) *Regexp {
	r := &Regexp{expression: expression} // one object: there are hundreds of them
	if testing {
		r.compiled()
	}
	return r
}

// MatchString is as in [regexp.Regexp], like the other methods.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// Match is as in [regexp.Regexp].
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// FindString is as in [regexp.Regexp].
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringSubmatch is as in [regexp.Regexp].
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindStringIndex is as in [regexp.Regexp].
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindAllStringSubmatchIndex is as in [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

// FindAllStringSubmatch is as in [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindSubmatch is as in [regexp.Regexp].
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

// FindStringSubmatchIndex is as in [regexp.Regexp].
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// ReplaceAllString is as in [regexp.Regexp].
func (r *Regexp) ReplaceAllString(s, by string) string {
	return r.compiled().ReplaceAllString(s, by)
}

// ReplaceAllStringFunc is as in [regexp.Regexp].
func (r *Regexp) ReplaceAllStringFunc(s string, by func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, by)
}

// String returns the source text of the expression, without compiling it.
func (r *Regexp) String() string { return r.expression }

// FindAllString is as in [regexp.Regexp].
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// Split is as in [regexp.Regexp].
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
