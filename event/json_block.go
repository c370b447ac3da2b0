package event

import "github.com/braidrun/braid/internal/strictjson"

// block reads a block; nil after an error.
func (r *decoder) block() Block {
	m := r.Mark()
	o := r.Object()
	var kind []byte
	inOrder := true // as Braid writes it, the kind first
	for o.Next() {
		if string(o.Key) == "kind" {
			kind = r.Bytes()
			break
		}
		inOrder = false
		r.Skip()
	}
	if r.Err() == nil && len(kind) == 0 {
		r.Fail(m, strictjson.BadValue, "the block has no kind")
	}
	if r.Err() != nil {
		return nil
	}
	if !inOrder {
		r.Return(m)
		o = r.Object()
	}
	if b := r.blockOf(kind, &o); b != nil {
		return b
	}
	r.Return(m)
	return &UnknownBlock{Name: BlockKind(kind), Raw: r.Verbatim(maxRaw)}
}

// field goes to the next field of a block, past its kind.
func (r *decoder) field(o *strictjson.Object) bool {
	for o.Next() {
		if string(o.Key) != "kind" {
			return true
		}
		r.Skip()
	}
	return false
}

// nest counts a tool result that is open.
func (w *encoder) nest() bool {
	if w.nested++; w.nested > maxNested {
		w.fail("tool results are nested too deep")
		return false
	}
	return true
}

// nest counts a tool result that is open.
func (r *decoder) nest() {
	if r.nested++; r.nested > maxNested {
		r.Fail(r.Mark(), strictjson.TooDeep, "tool results are nested too deep")
	}
}
