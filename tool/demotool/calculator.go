package demotool

import (
	"context"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

type calculation struct {
	Expression string `json:"expression" jsonschema:"what to calculate, such as 12 * (7 + 3)"`
}

// Calculator works out expressions of + - * / ^, parentheses and decimals,
// exactly: no binary fractions, no overflow. A result that goes on for ever,
// such as 1 / 3, is cut after 20 digits and ends with "…". What cannot be
// calculated (a division by zero, a bracket that is missing, something too
// large) is an error that says so to the model. It is pure.
func Calculator() tool.Tool {
	return tool.Func("calculator", "Works out an arithmetic expression exactly. Knows + - * / ^, parentheses and decimals.",
		func(_ context.Context, in calculation) (string, error) { return calculate(in.Expression) }, tool.Pure())
}

const (
	maxExpression = 1000
	maxNesting    = 100
	// maxBits bounds numerator and denominator of every value on the way.
	maxBits = 1 << 15
	// maxDigits is how many digits of a fraction are written.
	maxDigits = 20
	// maxExponent bounds ^ and the exponent in 1e3.
	maxExponent = 10_000
)

func calculate(expression string) (string, error) {
	if len(expression) > maxExpression {
		return "", refused("the expression has more than "+strconv.Itoa(maxExpression)+" characters", "calculate it in parts")
	}
	if !utf8.ValidString(expression) {
		return "", refused("the expression is no text", "send it as UTF-8")
	}
	c := &calculator{rest: signs.Replace(expression)}
	v, err := c.sum()
	if err != nil {
		return "", err
	}
	switch rest := c.peek(); rest {
	case 0:
		return write(v), nil
	case ')':
		return "", refused("there is a \")\" without its \"(\"", "check the parentheses")
	default:
		return "", c.unexpected()
	}
}

// signs are the other ways of writing what the calculator knows.
var signs = strings.NewReplacer(
	"×", "*", "÷", "/", "−", "-", "**", "^", "＋", "+", "－", "-", "＊", "*", "／", "/", "（", "(", "）", ")", "．", ".", "\u3000", " ",
	"０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9",
)

func refused(message, hint string) error {
	return &event.Error{Kind: event.ErrInvalid, Message: message, Hint: hint}
}

// calculator reads an expression and works it out on the way: a sum of
// products of signed powers.
type calculator struct {
	rest  string
	depth int
}

// peek gives the next byte that is no space; 0 at the end.
func (c *calculator) peek() byte {
	c.rest = strings.TrimLeft(c.rest, " \t\r\n")
	if c.rest == "" {
		return 0
	}
	return c.rest[0]
}

func (c *calculator) take() { c.rest = c.rest[1:] }

func (c *calculator) unexpected() error {
	if c.rest == "" {
		return refused("the expression ends where a number should stand", "finish it")
	}
	r, _ := utf8.DecodeRuneInString(c.rest)
	return refused("there is a "+strconv.Quote(string(r))+" that the calculator does not know, or not there",
		"use numbers, + - * / ^ and parentheses")
}

func (c *calculator) nested(do func() (*big.Rat, error)) (*big.Rat, error) {
	if c.depth++; c.depth > maxNesting {
		return nil, refused("the expression is nested too deeply", "calculate it in parts")
	}
	defer func() { c.depth-- }()
	return do()
}

func (c *calculator) sum() (*big.Rat, error) {
	v, err := c.product()
	for err == nil {
		sign := c.peek()
		if sign != '+' && sign != '-' {
			return v, nil
		}
		c.take()
		var w *big.Rat
		if w, err = c.product(); err != nil {
			break
		}
		// Both denominators are multiplied on the way.
		if bits(v)+bits(w) > 2*maxBits {
			return nil, tooLarge()
		}
		if sign == '-' {
			w.Neg(w)
		}
		v.Add(v, w)
		err = bounded(v)
	}
	return nil, err
}

func (c *calculator) product() (*big.Rat, error) {
	v, err := c.signed()
	for err == nil {
		sign := c.peek()
		switch sign {
		case '*', '/':
			c.take()
		case '(': // 2(3 + 4)
			sign = '*'
		default:
			return v, nil
		}
		var w *big.Rat
		if w, err = c.signed(); err != nil {
			break
		}
		if bits(v)+bits(w) > 2*maxBits {
			return nil, tooLarge()
		}
		if sign == '/' {
			if w.Sign() == 0 {
				return nil, refused("division by zero", "divide by something else")
			}
			w.Inv(w)
		}
		v.Mul(v, w)
		err = bounded(v)
	}
	return nil, err
}

func (c *calculator) signed() (*big.Rat, error) {
	switch c.peek() {
	case '-':
		c.take()
		v, err := c.nested(c.signed)
		if err != nil {
			return nil, err
		}
		return v.Neg(v), nil
	case '+':
		c.take()
		return c.nested(c.signed)
	default:
		return c.power()
	}
}

// power binds to the right, and closer than a sign before it: -2^2 is -4.
func (c *calculator) power() (*big.Rat, error) {
	base, err := c.value()
	if err != nil || c.peek() != '^' {
		return base, err
	}
	c.take()
	exponent, err := c.nested(c.signed)
	if err != nil {
		return nil, err
	}
	if !exponent.IsInt() {
		return nil, refused("the exponent "+write(exponent)+" is no whole number", "use a whole exponent")
	}
	if !exponent.Num().IsInt64() || max(exponent.Num().Int64(), -exponent.Num().Int64()) > maxExponent {
		return nil, tooLarge()
	}
	n := exponent.Num().Int64()
	if n < 0 {
		if base.Sign() == 0 {
			return nil, refused("division by zero: zero to a negative power", "use another base or exponent")
		}
		base.Inv(base)
		n = -n
	}
	if int64(bits(base)-1)*n > 2*maxBits {
		return nil, tooLarge()
	}
	e := big.NewInt(n)
	out := new(big.Rat).SetFrac(new(big.Int).Exp(base.Num(), e, nil), new(big.Int).Exp(base.Denom(), e, nil))
	return out, bounded(out)
}

func (c *calculator) value() (*big.Rat, error) {
	switch b := c.peek(); {
	case b == '(':
		c.take()
		v, err := c.nested(c.sum)
		if err != nil {
			return nil, err
		}
		switch c.peek() {
		case ')':
			c.take()
			return v, nil
		case 0:
			return nil, refused("a \")\" is missing", "close every parenthesis")
		default:
			return nil, c.unexpected()
		}
	case b == '.' || b >= '0' && b <= '9':
		return c.number()
	default:
		return nil, c.unexpected()
	}
}

// number reads 12, 1.5, .5, 1_000 and 1e3.
func (c *calculator) number() (*big.Rat, error) {
	digits, point, scale, n := strings.Builder{}, false, 0, 0
	for ; n < len(c.rest); n++ {
		switch b := c.rest[n]; {
		case b >= '0' && b <= '9':
			digits.WriteByte(b)
			if point {
				scale--
			}
			continue
		case b == '.' && !point:
			point = true
			continue
		case b == '_' && n > 0:
			continue
		}
		break
	}
	if digits.Len() == 0 {
		return nil, c.unexpected()
	}
	c.rest = c.rest[n:]
	if exp, size := exponentOf(c.rest); size > 0 {
		if exp > maxExponent || exp < -maxExponent {
			return nil, tooLarge()
		}
		scale += exp
		c.rest = c.rest[size:]
	}
	v, ok := new(big.Int).SetString(digits.String(), 10)
	if !ok {
		return nil, c.unexpected()
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	out := new(big.Rat).SetInt(v)
	if scale < 0 {
		out.SetFrac(v, power)
	} else {
		out.SetInt(power.Mul(power, v))
	}
	return out, bounded(out)
}

// exponentOf reads "e3" or "E-3"; size is 0 where there is none. An exponent
// of many digits is simply very large.
func exponentOf(s string) (exp, size int) {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0, 0
	}
	n := 1
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		n++
	}
	from := n
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == from {
		return 0, 0
	}
	exp, err := strconv.Atoi(s[from:n])
	if err != nil {
		exp = maxExponent + 1
	}
	if s[from-1] == '-' {
		exp = -exp
	}
	return exp, n
}

// bits is the size of a value: that of its larger part.
func bits(v *big.Rat) int { return max(v.Num().BitLen(), v.Denom().BitLen()) }

func bounded(v *big.Rat) error {
	if bits(v) > maxBits {
		return tooLarge()
	}
	return nil
}

func tooLarge() error {
	return &event.Error{Kind: event.ErrTooLarge, Message: "the number becomes too large", Hint: "calculate with smaller numbers"}
}

// write gives whole numbers and fractions that end in full, and cuts others.
func write(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	if places, ends := v.FloatPrec(); ends && places <= 50 {
		return v.FloatString(places)
	}
	// As many places as give maxDigits digits that count, cut and not rounded.
	abs := new(big.Rat).Abs(v)
	places := maxDigits
	if whole := new(big.Int).Quo(abs.Num(), abs.Denom()); whole.Sign() == 0 {
		places += max(0, int(float64(abs.Denom().BitLen()-abs.Num().BitLen())*0.30103))
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	cut := new(big.Int).Quo(scale.Mul(scale, abs.Num()), abs.Denom()).String()
	if len(cut) <= places {
		cut = strings.Repeat("0", places-len(cut)+1) + cut
	}
	sign := ""
	if v.Sign() < 0 {
		sign = "-"
	}
	return sign + cut[:len(cut)-places] + "." + cut[len(cut)-places:] + "…"
}
