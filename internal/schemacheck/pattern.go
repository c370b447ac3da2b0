package schemacheck

import (
	"regexp"
	"regexp/syntax"
)

// pattern is a regular expression and what it costs.
type pattern struct {
	*regexp.Regexp
	size int
}

// cost is the number of steps that a match of a text takes at most.
func (p *pattern) cost(text string) int { return 1 + len(text)*p.size/32 }

// newPattern compiles a regular expression of at most that size. text says what is wrong with it.
func newPattern(expr string, most int) (p *pattern, text string) {
	if len(expr) > maxPattern {
		return nil, "the regular expression is too long"
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, "the regular expression is none that RE2 knows"
	}
	size := sizeOf(tree, most)
	if size > most {
		return nil, "the regular expression is too large"
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, "the regular expression is none that RE2 knows"
	}
	return &pattern{re, size}, ""
}

// sizeOf estimates how many instructions an expression compiles to, repeats written out; it
// stops counting beyond most. It recurses as deep as package syntax lets expressions nest: 1000.
func sizeOf(re *syntax.Regexp, most int) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n = 1 + len(re.Rune)/16
	}
	for _, sub := range re.Sub {
		if n > most {
			return n
		}
		n += sizeOf(sub, most)
	}
	if re.Op == syntax.OpRepeat && n <= most {
		n *= max(re.Max, re.Min+1, 1)
	}
	return n
}
