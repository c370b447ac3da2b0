package bound

// Chain records the thinking in what a provider's encoder has written. The zero value is ready for use: it keeps all
// thinking that the vendor has not refused. [Chain.Bind] makes it keep only thinking that fits. It is not safe for
// concurrent use.
//
// The encoder calls [Chain.Think] for each thinking block and [Chain.Close] after each message. It then sends
// everything except the spans of [Chain.Keep].
type Chain struct {
	bound    bool
	digest   digest
	head     sum
	messages []message
	thoughts []thought
	// matched counts the messages whose sums and thoughts are known for head.
	matched int
}

// message is a message that was written.
type message struct {
	end int
	// own is the sum of its bytes without thinking, sum that of head and all messages up to it.
	own, sum sum
	// thoughts counts the blocks up to its end.
	thoughts int
}

// thought is a thinking block that was written.
type thought struct {
	from, to int
	self     mark
	made     stamp
	stamped  bool
	// inner is the sum of the bytes of its message before it, without thinking.
	inner sum
	// fits reports that it now follows the same bytes as when it was made.
	fits bool
	// refused reports that the vendor did not accept it.
	refused bool
	// sent reports that it is in the newest request.
	sent bool
}

// Bind records that the model binds its thinking. Call it before the first message.
func (c *Chain) Bind() { c.bound = true }

// Span is a range of the written bytes.
type Span struct{ From, To int }

// Think records a thinking block between two bytes.
func (c *Chain) Think(from, to int, signature, stamped string) {
	t := thought{from: from, to: to, self: markOf(signature)}
	t.made, t.stamped = parse(stamped)
	c.thoughts = append(c.thoughts, t)
}

// Trailing returns where the thinking at the end of the open message begins, and its number of
// blocks. It forgets these blocks, because a message must not end with thinking that may be left
// out.
func (c *Chain) Trailing(end int) (from, blocks int) {
	if !c.bound {
		return end, 0
	}
	least := 0
	if n := len(c.messages); n > 0 {
		least = c.messages[n-1].thoughts
	}
	for n := len(c.thoughts); n > least && c.thoughts[n-1].to == end; n-- {
		end = c.thoughts[n-1].from
		c.thoughts = c.thoughts[:n-1]
		blocks++
	}
	return end, blocks
}

// Close ends a message, which begins at the end of the previous one and ends with dst.
func (c *Chain) Close(dst []byte) {
	at, first := 0, 0
	if n := len(c.messages); n > 0 {
		at, first = c.messages[n-1].end, c.messages[n-1].thoughts
	}
	if !c.bound {
		c.messages = append(c.messages, message{end: len(dst), thoughts: len(c.thoughts)})
		return
	}
	c.digest.reset()
	for i := first; i < len(c.thoughts); i++ {
		t := &c.thoughts[i]
		c.digest.write(dst[at:t.from])
		t.inner = c.digest.sum()
		at = t.to
	}
	c.digest.write(dst[at:])
	c.messages = append(c.messages, message{end: len(dst), own: c.digest.sum(), thoughts: len(c.thoughts)})
}

// Cut forgets everything after end, which is the end of a message.
func (c *Chain) Cut(end int) {
	n := len(c.messages)
	for n > 0 && c.messages[n-1].end > end {
		n--
	}
	c.messages = c.messages[:n]
	c.matched = min(c.matched, n)
	thoughts := 0
	if n > 0 {
		thoughts = c.messages[n-1].thoughts
	}
	c.thoughts = c.thoughts[:thoughts]
}

// Size returns its approximate size in memory, in bytes.
func (c *Chain) Size() int { return 48*cap(c.messages) + 80*cap(c.thoughts) }

// Refuse leaves out all present thinking for good, because the vendor did not accept it.
func (c *Chain) Refuse() {
	for i := range c.thoughts {
		c.thoughts[i].refused = true
	}
}

// Kept is the result of [Chain.Keep].
type Kept struct {
	// Drop are the spans of the thinking that is not sent, in order.
	Drop []Span
	// Sent counts the blocks that are sent.
	Sent int

	prefix sum
	last   mark
}

// Keep decides which thinking is sent after head, the bytes that identify the model, the
// instructions and the tools.
//
// A block is sent if it follows the same bytes, without thinking, as when it was made, and the same
// thinking. The vendor allows leaving out the oldest blocks, but none between two others. So Keep
// goes from the newest block that fits back to the block that it was made after, and so on.
func (c *Chain) Keep(head ...[]byte) Kept {
	var k Kept
	if c.bound {
		k.prefix = c.match(head)
	}
	var want mark
	for i := len(c.thoughts) - 1; i >= 0; i-- {
		t := &c.thoughts[i]
		t.sent = !t.refused && (!c.bound || t.fits && (k.Sent == 0 || t.self == want))
		if !t.sent {
			continue
		}
		if k.Sent == 0 {
			k.last = t.self
		}
		want = t.made.last
		k.Sent++
	}
	if k.Sent == len(c.thoughts) {
		return k
	}
	k.Drop = make([]Span, 0, len(c.thoughts)-k.Sent)
	for i := range c.thoughts {
		if t := &c.thoughts[i]; !t.sent {
			k.Drop = append(k.Drop, Span{t.from, t.to})
		}
	}
	return k
}

// Continue is for a request whose last message is the model's own unfinished message. It returns k
// for an answer that is part of that message, and the message so far, without thinking. dst is
// everything that was written.
func (c *Chain) Continue(k Kept, dst []byte) (Kept, []byte) {
	n := len(c.messages)
	if !c.bound || n == 0 {
		return k, nil
	}
	k.prefix = c.head
	at, first := 0, 0
	if n > 1 {
		before := &c.messages[n-2]
		k.prefix, at, first = before.sum, before.end, before.thoughts
	}
	var open []byte
	for _, t := range c.thoughts[first:c.messages[n-1].thoughts] {
		open = append(open, dst[at:t.from]...)
		at = t.to
	}
	return k, append(open, dst[at:c.messages[n-1].end]...)
}

// match updates fits for head and returns the sum of everything that is sent. It reads only
// messages that are new since the last time, unless head has changed.
func (c *Chain) match(head [][]byte) sum {
	if h := c.digest.of(head...); h != c.head {
		c.head, c.matched = h, 0
	}
	before, first := c.head, 0
	if c.matched > 0 {
		before, first = c.messages[c.matched-1].sum, c.messages[c.matched-1].thoughts
	}
	for ; c.matched < len(c.messages); c.matched++ {
		m := &c.messages[c.matched]
		for ; first < m.thoughts; first++ {
			t := &c.thoughts[first]
			t.fits = t.stamped && c.digest.of(before[:], t.inner[:]) == t.made.prefix
		}
		m.sum = c.digest.of(before[:], m.own[:])
		before = m.sum
	}
	return before
}
