package strictjson

// Check reports what is wrong with data as one JSON text: syntax, duplicate
// keys, more than maxDepth levels (see [Reader.Reset]), bytes that are no
// UTF-8, halves of surrogate pairs, anything after the value. The error is an
// *[Error]; nil means that every reader understands data alike.
//
// It allocates only for objects of more than some two dozen keys and for keys
// with escapes in them.
func Check(data []byte, maxDepth int) error {
	var r Reader
	r.Reset(data, maxDepth)
	r.Skip()
	return r.End()
}

// AppendCompact checks src as [Check] does and appends it to dst without white
// space between its parts; strings and numbers stay as they are written. After an
// error dst is returned as it was.
func AppendCompact(dst, src []byte, maxDepth int) ([]byte, error) {
	var r Reader
	r.Reset(src, maxDepth)
	r.Skip()
	if err := r.End(); err != nil {
		return dst, err
	}
	if !r.spaced {
		return append(dst, src...), nil
	}
	return appendWithoutSpace(dst, src), nil
}

// appendWithoutSpace appends a text that has been checked.
func appendWithoutSpace(dst, src []byte) []byte {
	quoted := false
	from := 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c <= ' ' && !quoted:
			dst = append(dst, src[from:i]...)
			from = i + 1
		}
	}
	return append(dst, src[from:]...)
}
