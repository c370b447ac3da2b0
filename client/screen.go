package client

import "github.com/braidrun/braid/wire/native"

// Screen is the state that a client shows of a run: it applies frames by the rules of package
// native. [Screen.Apply] returns what each of them changed.
type Screen = native.Screen

// Change is the effect of a frame on a screen.
type Change = native.Change
