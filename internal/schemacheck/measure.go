package schemacheck

import "strconv"

// measured holds how many schemas apply to a value through one schema, counted once per path, and
// the length of the longest path.
type measured struct {
	open          bool
	spread, chain int
}

// measure refuses schemas that apply endlessly, or too many times, to one value.
func (c *compiler) measure() {
	if c.refusal != nil {
		return
	}
	known := make(map[*rule]*measured, len(c.rules))
	for _, r := range c.rules {
		if c.spread(r, known, 0); c.refusal != nil {
			return
		}
	}
}

// spread recurses over schemas that apply to the same value, to a depth of maxChain.
func (c *compiler) spread(r *rule, known map[*rule]*measured, depth int) *measured {
	if m := known[r]; m != nil {
		if m.open {
			c.refuse(r.at, "the schema refers to itself without end; let it refer to itself for properties or items only")
		}
		return m
	}
	m := &measured{open: true, spread: 1, chain: 1}
	known[r] = m
	if depth > maxChain {
		c.refuse(r.at, "references lead on through more than "+strconv.Itoa(maxChain)+" schemas")
	}
	r.inPlace(c, func(s *rule) {
		if c.ways++; c.ways > maxWays {
			c.refuse(r.at, "references multiply: more than "+strconv.Itoa(maxWays)+" ways lead from one schema to another")
		}
		if c.refusal != nil {
			return
		}
		below := c.spread(s, known, depth+1)
		m.spread = min(m.spread+below.spread, maxSpread+1)
		m.chain = max(m.chain, below.chain+1)
	})
	if m.open = false; m.spread > maxSpread || m.chain > maxChain {
		c.refuse(r.at, "references and alternatives multiply: more than "+strconv.Itoa(maxSpread)+" schemas would apply to one value")
	}
	return m
}
