package fold

import (
	"cmp"
	"strconv"
	"strings"
)

// StepName returns a step's name: "m3" is the model call of cycle 3, "t3.1" the second tool call that it requested. A
// scope's id comes before it. The name depends only on the log, so every driver gives a step the same name.
func StepName(scope string, kind byte, cycle, index int) string {
	var buf [64]byte
	b := buf[:0]
	if scope != "" {
		b = append(b, scope...)
		b = append(b, '/')
	}
	b = append(b, kind)
	b = strconv.AppendInt(b, int64(cycle), 10)
	if kind == 't' {
		b = append(b, '.')
		b = strconv.AppendInt(b, int64(index), 10)
	}
	return string(b)
}

// compareSteps orders steps by request: it compares numbers by value and puts a call before the steps of the agent
// that it runs.
func compareSteps(a, b string) int {
	for a != "" && b != "" {
		n, m := leadingNumber(a), leadingNumber(b)
		if n > 0 && m > 0 {
			if c := cmp.Or(cmp.Compare(n, m), strings.Compare(a[:n], b[:m])); c != 0 {
				return c
			}
			a, b = a[n:], b[m:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// leadingNumber returns the number of leading digits of s.
func leadingNumber(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
