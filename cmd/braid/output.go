package main

import "io"

// output collects what one event puts on the screen and writes it at once, as
// soon as the event is over: nothing is held back, nothing is torn.
type output struct {
	w   io.Writer
	buf []byte
	// fresh is set while the cursor stands at the beginning of a line.
	fresh bool
	// err is the first write that failed; nothing is written after it.
	err error
}

func newOutput(w io.Writer) *output { return &output{w: w, fresh: true} }

// flush writes what has been collected.
func (o *output) flush() error {
	if len(o.buf) == 0 || o.err != nil {
		o.buf = o.buf[:0]
		return o.err
	}
	o.fresh = o.buf[len(o.buf)-1] == '\n'
	_, o.err = o.w.Write(o.buf)
	if cap(o.buf) > 1<<16 {
		o.buf = nil
	}
	o.buf = o.buf[:0]
	return o.err
}

// atStart reports whether the next byte begins a line.
func (o *output) atStart() bool {
	if n := len(o.buf); n > 0 {
		return o.buf[n-1] == '\n'
	}
	return o.fresh
}

// startLine ends a line that is not over yet.
func (o *output) startLine() {
	if !o.atStart() {
		o.buf = append(o.buf, '\n')
	}
}
