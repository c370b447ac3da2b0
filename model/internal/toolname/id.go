package toolname

import (
	"crypto/sha256"
	"strconv"
)

// IDRule is a provider's rule for the ids of calls.
type IDRule struct {
	// Max is in bytes; 0 means no limit.
	Max int
	// Visible allows all of ASCII except blanks. Otherwise only letters, digits, _ and - are allowed. Some models
	// read the ids of their calls, so few changes are better.
	Visible bool
	// Exact is the required number of letters and digits; 0 means any number. If it is set, Max and Visible have no
	// effect.
	Exact int
}

func (r IDRule) letter(c byte) bool { return letter(c) || r.Visible && ' ' < c && c <= '~' }

// IDs maps the ids of a conversation's calls to a provider's ids. The zero value is empty and ready for use. It is
// not safe for concurrent use.
type IDs struct {
	taken map[string]struct{}
	// given are the answers and the ids in order, so that Cut can remove everything after a position.
	given []given
	// calls maps the ids of the last answer's calls to those on the wire.
	calls map[string]string
}

// given is an id that was given, or the beginning of an answer if wire is empty.
type given struct{ own, wire string }

// Answer begins a model's answer. Later results belong to its calls.
func (i *IDs) Answer() {
	i.given = append(i.given, given{})
	clear(i.calls)
}

// Give returns the id for a call: it fits the rule, and no other call of the conversation has it. Models repeat ids,
// and other providers' ids have other forms. The result depends only on the earlier calls, so every request has the
// same id.
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

// exact returns an id of n letters and digits for an id of another form. It uses a hash, so that ids with the same
// beginning stay distinct.
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

// hashed returns n letters and digits of a hash.
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

// Of returns the wire id of a call of the last answer. It returns an unknown id unchanged; the provider reports the
// error.
func (i *IDs) Of(call string) string {
	if id, ok := i.calls[call]; ok {
		return id
	}
	return call
}

// Any reports whether a call was given an id.
func (i *IDs) Any() bool { return len(i.taken) > 0 }

// Len returns the number of answers and ids, as a position for Cut.
func (i *IDs) Len() int { return len(i.given) }

// Cut goes back to the position n of Len. It restores the used ids and the calls of the answer that was the last one
// then.
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
