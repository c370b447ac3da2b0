// Package serve makes a server of an agent: conversations, runs and streams over HTTP, as braid serve has them.
//
// A [Server] answers the native API, AgentCore's requests and the page for a browser. It keeps conversations in memory,
// in a folder or in PostgreSQL, for one tenant or for many with keys of their own:
//
//	s, err := serve.New(ctx, serve.Options{Agent: agent, Addr: "127.0.0.1:7421", Store: serve.Folder("data")})
//	if err != nil {
//		return err
//	}
//	fmt.Println("http://127.0.0.1:7421/#token=" + s.Token().Reveal())
//	return s.Run(ctx)
//
// A program with an http.Server of its own leaves Addr out, uses the Server as a handler, and calls [Server.Start] and
// [Server.Close] instead of [Server.Run]. A server that was not started refuses runs with 503.
package serve
