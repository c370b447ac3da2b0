package client

import "github.com/braidrun/braid/wire/native"

// Screen is what a client shows of the run that it watches: it applies frames by the
// rules of package native, and [Screen.Apply] says what each of them changed.
type Screen = native.Screen

// Change is what a frame did to a screen.
type Change = native.Change
