package term

import "io"

// Output collects what one event puts on the screen and writes it at once, as
// soon as the event is over: nothing is held back, nothing is torn.
type Output struct {
	w   io.Writer
	Buf []byte
	// fresh is set while the cursor stands at the beginning of a line.
	fresh bool
	// Err is the first write that failed; nothing is written after it.
	Err error
}

func NewOutput(w io.Writer) *Output { return &Output{w: w, fresh: true} }

// Flush writes what has been collected.
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

// StartLine ends a line that is not over yet.
func (o *Output) StartLine() {
	if !o.atStart() {
		o.Buf = append(o.Buf, '\n')
	}
}
