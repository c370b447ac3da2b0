package event

import "fmt"

// PanicError is the cause of an [Error] where code that Braid called panicked or ended its goroutine. Find it with
// errors.As. It is for the program's own log: no event, no stream and no model has its text, because a panic may say
// anything.
type PanicError struct {
	// Value is what the code panicked with. It is nil where the code ended its goroutine.
	Value any
	// Stack is where it panicked.
	Stack []byte
}

// Error implements error: the value and the stack.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the goroutine was ended"
	}
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}
