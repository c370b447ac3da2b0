package event

import "github.com/braidrun/braid/internal/strictjson"

func (w *encoder) unknownBody(u *Unknown) {
	if u == nil {
		w.fail(noBody)
		return
	}
	if u.Name == "" || u.Name.Info().Kind != "" {
		w.fail("an unknown body must have a name, and not that of a known kind")
		return
	}
	w.str(`"kind":`, string(u.Name))
	if len(u.Raw) == 0 {
		return // it came without one
	}
	if err := strictjson.Check(u.Raw, maxRaw); err != nil {
		w.failRaw(`"body"`, err)
		return
	}
	w.key(`"body":`)
	w.buf = append(append(w.buf, u.Raw...), ',')
}

func (r *decoder) unknownBody(kind []byte) *Unknown {
	return &Unknown{Name: Kind(kind), Raw: r.Verbatim(maxRaw)}
}

func (w *encoder) unknownBlock(u *UnknownBlock) {
	if u == nil {
		w.fail(noBlock)
		return
	}
	if u.Name == "" || knownBlock(u.Name) {
		w.fail("an unknown block must have a name, and not that of a known kind")
		return
	}
	// Raw is the whole block: its kind must be the name, or it would come
	// back as something else.
	var r strictjson.Reader
	r.Reset(u.Raw, maxRaw)
	named := false
	for o := r.Object(); o.Next(); {
		if string(o.Key) == "kind" {
			named = r.String() == string(u.Name)
			continue
		}
		r.Skip()
	}
	if err := r.End(); err != nil {
		w.failRaw(`"block"`, err)
		return
	}
	if !named {
		w.fail("an unknown block's raw JSON does not bear its name")
		return
	}
	w.buf = append(append(w.buf, u.Raw...), ',')
}
