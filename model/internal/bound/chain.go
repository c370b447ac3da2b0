package bound

// Chain is what a provider's encoder knows of the thinking in what it has written.
// Its zero value is empty and ready: it keeps all thinking that the vendor has not
// refused. [Chain.Bind] makes it keep only what fits. It is not safe for concurrent
// use.
//
// The encoder calls [Chain.Think] for each thinking block that it writes and
// [Chain.Close] behind each message. The request's body then holds all of it but
// the [Chain.Keep] spans.
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
	// own is of its bytes without thinking, sum is of head and all messages up to it.
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
	// inner is of the bytes of its message before it, without thinking.
	inner sum
	// fits says that what is sent before it is what was sent when it was made.
	fits bool
	// refused says that the vendor did not accept it.
	refused bool
	// sent says that it is in the newest request.
	sent bool
}

// Bind says that the model binds its thinking. Call it before the first message.
func (c *Chain) Bind() { c.bound = true }

// Span is a piece of what was written.
type Span struct{ From, To int }

// Think notes a thinking block that was written from one byte to another.
func (c *Chain) Think(from, to int, signature, stamped string) {
	t := thought{from: from, to: to, self: markOf(signature)}
	t.made, t.stamped = parse(stamped)
	c.thoughts = append(c.thoughts, t)
}

// Trailing gives where the thinking begins with which the open message ends at end,
// and how many blocks that are. It forgets these blocks. A message must not end with
// thinking that may have to be left out.
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

// Close ends a message, which begins where the one before it ended and ends with dst.
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

// Cut forgets what was written behind end, where a message ends.
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

// Size is about how much memory it holds, in bytes.
func (c *Chain) Size() int { return 48*cap(c.messages) + 80*cap(c.thoughts) }

// Refuse leaves out all thinking that there is, for as long as the chain knows it:
// the vendor did not accept it.
func (c *Chain) Refuse() {
	for i := range c.thoughts {
		c.thoughts[i].refused = true
	}
}

// Kept is what [Chain.Keep] found.
type Kept struct {
	// Drop are the spans of the thinking that is not sent, in order.
	Drop []Span
	// Sent counts the blocks that are sent.
	Sent int

	prefix sum
	last   mark
}

// Keep finds which thinking is sent behind head, the bytes that stand for whom is
// asked, the instructions and the tools.
//
// A block is sent if the bytes before it, but for thinking, are those that it was
// made behind, and if the thinking before it is what it was made behind too. The
// vendor allows to leave out the oldest blocks, and none between two others. So
// Keep goes from the newest block that fits back to the block that it was made
// behind, and so on.
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

// Continue is for a request whose last message is the model's own, which it goes on with. It returns k
// for an answer that is part of that message, and what the message has so far, without thinking.
// dst is all that was written.
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

// match brings fits up to date for head, and gives the sum of all that is sent. It
// looks only at messages that are new since the last time, unless head is another.
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
