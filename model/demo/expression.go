package demo

import (
	"strings"
)

// expression is a calculation in a text: a number, or two expressions and the sign between them. Numbers stay text,
// because only tools calculate.
type expression struct {
	number      string
	sign        byte
	left, right *expression
}

// String returns the expression in signs: "(2 + 3) * 4".
func (e *expression) String() string {
	if e.left == nil {
		return e.number
	}
	l, r := e.left.String(), e.right.String()
	p := precedence(e.sign)
	if lp := e.left.precedence(); lp < p || (e.sign == '^' && (lp == p || strings.HasPrefix(l, "-"))) {
		l = "(" + l + ")"
	}
	if rp := e.right.precedence(); rp < p || (rp == p && e.sign != '^') || strings.HasPrefix(r, "-") {
		r = "(" + r + ")"
	}
	return l + " " + string(e.sign) + " " + r
}

func precedence(sign byte) int {
	switch sign {
	case '+', '-':
		return 1
	case '*', '/':
		return 2
	default:
		return 3
	}
}

func (e *expression) precedence() int {
	if e.left == nil {
		return 4
	}
	return precedence(e.sign)
}

// simple reports whether it is one operation on two numbers.
func (e *expression) simple() bool {
	return e.left != nil && e.left.left == nil && e.right.left == nil
}

// phrase names the calculation, for a sentence that continues with the result.
func (e *expression) phrase(lang string) string {
	if lang != "ja" {
		return "The result of " + e.String()
	}
	if e.simple() {
		switch e.sign {
		case '+':
			return e.left.number + "と" + e.right.number + "を足した結果"
		case '-':
			return e.left.number + "から" + e.right.number + "を引いた結果"
		case '*':
			return e.left.number + "に" + e.right.number + "を掛けた結果"
		case '/':
			return e.left.number + "を" + e.right.number + "で割った結果"
		}
	}
	return e.String() + " の結果"
}

// plan announces the calculation.
func (e *expression) plan(lang string) string {
	if lang != "ja" {
		return "I will work out " + e.String() + "."
	}
	if e.simple() {
		switch e.sign {
		case '+':
			return e.left.number + "と" + e.right.number + "を足し算します。"
		case '-':
			return e.left.number + "から" + e.right.number + "を引き算します。"
		case '*':
			return e.left.number + "と" + e.right.number + "を掛け算します。"
		case '/':
			return e.left.number + "を" + e.right.number + "で割り算します。"
		}
	}
	return e.String() + " を計算します。"
}

// next returns the first operation on two numbers, given the values of the operations before it in the order in which
// next returned them. ok is false if no operation is left.
func (e *expression) next(done []string) (sign byte, a, b string, ok bool) {
	rest := done
	var walk func(e *expression) (value string, open bool)
	walk = func(e *expression) (string, bool) {
		if e.left == nil {
			return e.number, false
		}
		l, open := walk(e.left)
		if open {
			return "", true
		}
		r, open := walk(e.right)
		if open {
			return "", true
		}
		if len(rest) > 0 {
			v := rest[0]
			rest = rest[1:]
			return v, false
		}
		sign, a, b, ok = e.sign, l, r, true
		return "", true
	}
	walk(e)
	return sign, a, b, ok
}

// parseExpression parses numbers, + - * / ^, signs and parentheses; it returns nil for anything else. ^ is
// right-associative.
func parseExpression(tokens []string) *expression {
	p := &expressionParser{tokens: tokens}
	e := p.binary(1)
	if e == nil || len(p.tokens) > 0 {
		return nil
	}
	return e
}

type expressionParser struct {
	tokens []string
	depth  int
}

const maxExpressionDepth = 64

func (p *expressionParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *expressionParser) binary(level int) *expression {
	if p.depth++; p.depth > maxExpressionDepth {
		return nil
	}
	defer func() { p.depth-- }()
	if level > 2 {
		return p.power()
	}
	left := p.binary(level + 1)
	for left != nil {
		t := p.peek()
		if len(t) != 1 || strings.IndexByte("+-*/", t[0]) < 0 || precedence(t[0]) != level {
			return left
		}
		p.tokens = p.tokens[1:]
		right := p.binary(level + 1)
		if right == nil {
			return nil
		}
		left = &expression{sign: t[0], left: left, right: right}
	}
	return nil
}

func (p *expressionParser) power() *expression {
	signed := p.peek() == "-"
	base := p.unary()
	if base == nil || p.peek() != "^" {
		return base
	}
	p.tokens = p.tokens[1:]
	if p.depth++; p.depth > maxExpressionDepth {
		return nil
	}
	defer func() { p.depth-- }()
	exponent := p.power()
	if exponent == nil {
		return nil
	}
	// -2 ^ 2 means -(2 ^ 2), which a signed number cannot express.
	if signed && base.left == nil {
		return &expression{
			sign: '-', left: &expression{number: "0"},
			right: &expression{sign: '^', left: &expression{number: base.number[1:]}, right: exponent},
		}
	}
	return &expression{sign: '^', left: base, right: exponent}
}

func (p *expressionParser) unary() *expression {
	switch t := p.peek(); {
	case t == "":
		return nil
	case t == "-" && len(p.tokens) > 1 && p.tokens[1] == "(":
		p.tokens = p.tokens[1:]
		e := p.power()
		if e == nil {
			return nil
		}
		return &expression{sign: '-', left: &expression{number: "0"}, right: e}
	case t == "-" || t == "+":
		if len(p.tokens) < 2 || !isNumber(p.tokens[1]) || strings.HasPrefix(p.tokens[1], "-") {
			return nil
		}
		n := p.tokens[1]
		p.tokens = p.tokens[2:]
		if t == "-" {
			n = "-" + n
		}
		return &expression{number: n}
	case t == "(":
		p.tokens = p.tokens[1:]
		e := p.binary(1)
		if e == nil || p.peek() != ")" {
			return nil
		}
		p.tokens = p.tokens[1:]
		return e
	case isNumber(t):
		p.tokens = p.tokens[1:]
		return &expression{number: t}
	}
	return nil
}
