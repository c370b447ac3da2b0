// Package client is a client of Braid servers. It has the native API and streams that survive
// broken connections.
//
//	c, err := client.New("http://127.0.0.1:7421", secret.New(token), client.Options{})
//	conv, err := c.Create(ctx, client.NewConversation{})
//	for f, err := range c.Stream(ctx, conv.ID, "Hello!", client.RunOptions{}) {
//		…
//	}
//
// A stream reconnects after every cut, with the id of the last frame. It waits longer after each
// failure, and gives up only after many failures in a row or if the server refuses it. It yields
// each durable frame once, and a [Screen] that gets every frame shows the same as without a cut. A
// run is started only once, however often its request is repeated: the client makes an idempotency
// key for each.
//
// Errors are *[event.Error]s. Check the Kind; the Code is the server's. The Kind is
// [event.ErrUnavailable] if the server cannot be reached.
package client
