// Package client talks to a Braid server: the native API, and its streams, which
// survive whatever lies between.
//
//	c, err := client.New("http://127.0.0.1:7421", secret.New(token), client.Options{})
//	conv, err := c.Create(ctx, client.NewConversation{})
//	for f, err := range c.Stream(ctx, conv.ID, "Hello!", client.RunOptions{}) {
//		…
//	}
//
// A stream goes on by itself after every cut: it connects again with the id of the
// last frame, waits longer after each failure, and gives up only when many in a row
// have failed or the server says no. Each durable frame is yielded once, and a
// [Screen] that takes every frame shows the same as if there had been no cut. A run
// is begun once however often its request had to be repeated: the client makes
// a key for each.
//
// Errors are *[event.Error]: its Kind is what to ask for, its Code the server's word.
// Where the server cannot be reached it is [event.ErrUnavailable].
package client
