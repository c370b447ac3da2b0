// Package serve runs agents behind an HTTP server: conversations, runs and streams, as braid serve
// has them.
//
// A [Server] serves the native API, AgentCore's protocol and a page for browsers. It keeps
// conversations in memory, in a folder or in PostgreSQL, for one tenant or for many tenants with
// keys of their own:
//
//	s, err := serve.New(ctx, serve.Options{Agent: agent, Addr: "127.0.0.1:7421", Store: serve.Folder("data")})
//	if err != nil {
//		return err
//	}
//	fmt.Println("http://127.0.0.1:7421/#token=" + s.Token().Reveal())
//	return s.Run(ctx)
//
// A program with an http.Server of its own leaves Addr empty, uses the Server as a handler, and
// calls [Server.Start] and [Server.Close] instead of [Server.Run]. Before Start the server refuses
// runs with 503.
package serve
