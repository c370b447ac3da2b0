package directory

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/lazyre"
)

// These are the bounds of texts and lists.
const (
	longestName         = 200
	longestInstructions = 256 << 10
	longestDescription  = 4 << 10
	longestModelName    = 256
	mostPatterns        = 256
	mostAliases         = 32
	mostSubAgents       = 64
	mostSkills          = 256
	longestSecret       = 16 << 10
	mostDays            = 36_500
)

// envName matches names of environment variables.
var envName = lazyre.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// checker keeps the first error.
type checker struct {
	op  string
	err error
}

func (c *checker) want(ok bool, message, hint string) {
	if c.err == nil && !ok {
		c.err = invalid(c.op, message, hint)
	}
}

func (c *checker) slug(what, id string) {
	c.want(isSlug(id), "the id of the "+what+" is none", "use 1 to 63 small letters, digits and hyphens, and begin with no hyphen")
}

func (c *checker) text(field, s string, longest int) {
	ok := len(s) <= longest && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
	c.want(ok, field+" is too long, or no text", "send less, as UTF-8 without zero characters")
}

func (c *checker) status(s Status) {
	c.want(s == Active || s == Inactive, "there is no such status", "use active or inactive")
}

func (c *checker) patterns(field string, lists ...[]string) {
	for _, list := range lists {
		c.want(len(list) <= mostPatterns, field+" has too many entries", "use patterns, such as \"get_*\"")
		for _, p := range list {
			_, err := path.Match(p, "")
			c.want(err == nil && p != "" && len(p) <= longestName && utf8.ValidString(p) && !strings.ContainsRune(p, 0),
				field+" has an entry that is no pattern", "write names of tools, or patterns such as \"get_*\"")
		}
	}
}

func (c *checker) permissions(p Permissions) { c.patterns("permissions", p.Allow, p.Ask, p.Deny) }

func (c *checker) limits(l Limits) {
	ok := l.Cycles >= 0 && l.ToolCalls >= 0 && l.InputTokens >= 0 && l.OutputTokens >= 0 && l.TotalTokens >= 0 && l.Cost >= 0 && l.Seconds >= 0
	c.want(ok, "a limit is less than nothing", "use 0 for no limit")
}
