package schemacheck

import (
	"regexp"
	"regexp/syntax"
)

// pattern is a compiled regular expression and its size.
type pattern struct {
	*regexp.Regexp
	size int
}

// cost returns the maximum number of steps to match a text.
func (p *pattern) cost(text string) int { return 1 + len(text)*p.size/32 }

// newPattern compiles a regular expression of at most the given size. text describes the problem;
// "" is none.
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

// sizeOf estimates the number of instructions of an expression with its repeats expanded. It
// stops counting beyond most. It recurses as deep as package syntax nests expressions: 1000.
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
