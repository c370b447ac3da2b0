package schemacheck

import (
	"net/url"
	"strconv"
	"strings"
)

// resolveAll resolves the references of all schemas. A resolved reference may add schemas with
// more references.
func (c *compiler) resolveAll() {
	for len(c.pending) > 0 && c.refusal == nil {
		r := c.pending[len(c.pending)-1]
		c.pending = c.pending[:len(c.pending)-1]
		if r.refText != "" {
			r.ref, _ = c.resolve(r, r.refText)
		}
		if r.dynamicText != "" {
			if r.dynamic, r.anchor = c.resolve(r, r.dynamicText); r.anchor != "" {
				c.anchored = true
			}
		}
	}
}

// resolve finds the schema that a reference names. dynamic is the name of the dynamic anchor if
// the reference names one.
func (c *compiler) resolve(r *rule, ref string) (target *rule, dynamic string) {
	missing := func() (*rule, string) {
		c.refuse(r.at, "the reference "+strconv.Quote(clip(ref, 80))+" names nothing in the schema, and nothing is fetched")
		return nil, ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return missing()
	}
	fragment, home := u.Fragment, r.home
	if u.Fragment, u.RawFragment = "", ""; *u != (url.URL{}) {
		_, text, ok := c.join(r, u)
		if !ok {
			return missing()
		}
		home = c.resources[text]
	}
	switch {
	case home == nil:
		return missing()
	case fragment != "" && fragment[0] != '/':
		a, ok := home.anchors[fragment]
		if !ok {
			return missing()
		}
		if a.dynamic {
			dynamic = fragment
		}
		a.rule.named = true
		return a.rule, dynamic
	}
	n := home.root.follow(fragment)
	if n == nil {
		return missing()
	}
	target = c.compile(n, c.homeOf(n))
	target.named = true
	return target, ""
}

// join resolves a URI against that of r's resource and drops the fragment. ok is false if the URI
// is too long.
func (c *compiler) join(r *rule, u *url.URL) (joined *url.URL, text string, ok bool) {
	if len(u.Host)+len(u.Path)+len(u.Opaque)+len(u.RawQuery) > maxURI {
		return nil, "", false
	}
	joined = r.home.base.ResolveReference(u)
	joined.Fragment, joined.RawFragment = "", ""
	text = joined.String()
	return joined, text, len(text) <= maxURI
}

// homeOf returns the resource that contains a place of the schema.
func (c *compiler) homeOf(n *value) *resource {
	for ; n != nil; n = n.up {
		if r := c.rules[n]; r != nil {
			return r.home
		}
	}
	return c.resources[""]
}

// follow resolves a JSON pointer; nil if nothing is there.
func (v *value) follow(pointer string) *value {
	if pointer == "" {
		return v
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch v.kind {
		case '{':
			v = v.get(step)
		case '[':
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v.vals) {
				return nil
			}
			v = v.vals[i]
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}
