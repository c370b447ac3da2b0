package term

import "io"

// Output collects the bytes that one event prints and writes them with one call, as soon as the event is
// complete. After a failed write it writes nothing.
type Output struct {
	w   io.Writer
	Buf []byte
	// fresh is set while the cursor is at the beginning of a line.
	fresh bool
	// Err is the error of the first failed write.
	Err error
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w, fresh: true} }

// Flush writes the collected bytes. It returns Err.
func (o *Output) Flush() error {
	if len(o.Buf) == 0 || o.Err != nil {
		o.Buf = o.Buf[:0]
		return o.Err
	}
	o.fresh = o.Buf[len(o.Buf)-1] == '\n'
	_, o.Err = o.w.Write(o.Buf)
	if cap(o.Buf) > 1<<16 {
		o.Buf = nil
	}
	o.Buf = o.Buf[:0]
	return o.Err
}

// atStart reports whether the next byte begins a line.
func (o *Output) atStart() bool {
	if n := len(o.Buf); n > 0 {
		return o.Buf[n-1] == '\n'
	}
	return o.fresh
}

// StartLine ends an unfinished line.
func (o *Output) StartLine() {
	if !o.atStart() {
		o.Buf = append(o.Buf, '\n')
	}
}
