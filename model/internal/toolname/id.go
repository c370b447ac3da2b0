package toolname

import (
	"crypto/sha256"
	"strconv"
)

// IDRule is what a provider lets the id of a call be.
type IDRule struct {
	// Max is in bytes; 0 is without bound.
	Max int
	// Visible takes all of ASCII but blanks, otherwise letters, digits, _ and -.
	// There are models that read the ids of their calls: the less is changed, the
	// better.
	Visible bool
	// Exact is how many letters and digits an id has where it must have so many; 0 is
	// any number. Max and Visible then say nothing.
	Exact int
}

func (r IDRule) letter(c byte) bool { return letter(c) || r.Visible && ' ' < c && c <= '~' }

// IDs are the ids of a conversation's calls as a provider takes them. Its zero
// value is empty and ready. It is used by one goroutine at a time.
type IDs struct {
	taken map[string]struct{}
	// given are the answers and the ids in their order, so that what is cut off
	// leaves nothing behind.
	given []given
	// calls maps the ids of the last answer's calls to those on the wire.
	calls map[string]string
}

// given is an id that was given, or the beginning of an answer, where wire is
// empty.
type given struct{ own, wire string }

// Answer begins an answer of the model's: results behind it are of its calls.
func (i *IDs) Answer() {
	i.given = append(i.given, given{})
	clear(i.calls)
}

// Give makes the id of a call: by the rule, and one that no call of the
// conversation has. A model does not always care, and other providers' ids look
// otherwise. It depends on what stands before alone, so that every request says
// the same.
func (i *IDs) Give(id string, rule IDRule) string {
	if rule.Exact > 0 {
		return i.exact(id, rule.Exact)
	}
	own := id
	if id == "" {
		id = "call"
	}
	if rule.Max > 0 && len(id) > rule.Max {
		id = id[:rule.Max]
	}
	for n := range len(id) {
		if !rule.letter(id[n]) {
			id = replaced(id, rule)
			break
		}
	}
	free := id
	for n := 2; ; n++ {
		if _, taken := i.taken[free]; !taken {
			break
		}
		mark := "_" + strconv.Itoa(n)
		free = id + mark
		if rule.Max > 0 {
			free = id[:min(len(id), rule.Max-len(mark))] + mark
		}
	}
	i.take(own, free)
	return free
}

// exact is the id of n letters and digits for one that has another form. It is made of
// a hash, so that ids which begin alike stay apart.
func (i *IDs) exact(id string, n int) string {
	free := id
	for try := 0; ; try++ {
		if _, taken := i.taken[free]; !taken && len(free) == n && plain(free) {
			break
		}
		free = hashed(id, try, n)
	}
	i.take(id, free)
	return free
}

func plain(id string) bool {
	for n := range len(id) {
		if c := id[n]; !letter(c) || c == '_' || c == '-' {
			return false
		}
	}
	return true
}

// hashed is n letters and digits of a hash.
func hashed(id string, try, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(strconv.Itoa(try) + " " + id))
	b := make([]byte, n)
	for k := range b {
		b[k] = digits[int(sum[k%len(sum)])%len(digits)]
	}
	return string(b)
}

func (i *IDs) take(own, wire string) {
	if i.taken == nil {
		i.taken, i.calls = make(map[string]struct{}), make(map[string]string)
	}
	i.taken[wire] = struct{}{}
	i.given = append(i.given, given{own, wire})
	i.calls[own] = wire
}

func replaced(id string, rule IDRule) string {
	b := []byte(id)
	for i, c := range b {
		if !rule.letter(c) {
			b[i] = '_'
		}
	}
	return string(b)
}

// Of is the id that a call of the last answer was given; one that nobody made
// stays as it is: the provider will say what it thinks of it.
func (i *IDs) Of(call string) string {
	if id, ok := i.calls[call]; ok {
		return id
	}
	return call
}

// Any reports whether a call was given an id.
func (i *IDs) Any() bool { return len(i.taken) > 0 }

// Len counts the answers and the ids that were given: where Cut finds this place
// again.
func (i *IDs) Len() int { return len(i.given) }

// Cut goes back to where Len was n: to the ids that were taken there, and to the
// calls of the answer that was the last one.
func (i *IDs) Cut(n int) {
	if n == len(i.given) {
		return
	}
	for _, g := range i.given[n:] {
		delete(i.taken, g.wire)
	}
	clear(i.given[n:])
	i.given = i.given[:n]
	clear(i.calls)
	last := n
	for last > 0 && i.given[last-1].wire != "" {
		last--
	}
	for _, g := range i.given[last:] {
		i.calls[g.own] = g.wire
	}
}
