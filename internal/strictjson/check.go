package strictjson

// Check validates data as one JSON text. It refuses syntax errors, duplicate keys, more than
// maxDepth levels (see [Reader.Reset]), invalid UTF-8, lone surrogates and anything after the
// value. The error is an *[Error]; nil means that every JSON reader understands data alike.
//
// It allocates only for objects of more than about 24 keys and for keys with escapes.
func Check(data []byte, maxDepth int) error {
	var r Reader
	r.Reset(data, maxDepth)
	r.Skip()
	return r.End()
}

// AppendCompact checks src as [Check] does and appends it to dst without white space between
// tokens. Strings and numbers keep their spelling. On an error it returns dst unchanged.
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
