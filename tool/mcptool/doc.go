// Package mcptool gives an agent the tools of MCP servers: programs that are
// started here and spoken to over their standard input and output, and servers
// that are reached over HTTP.
//
//	servers, err := mcptool.Connect(ctx, mcptool.Options{Commands: true}, mcptool.Config{
//		Name: "files", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."},
//	})
//	if err != nil { … }
//	defer servers.Close()
//	agent := braid.New("helper", model,
//		braid.Instructions("You look after my files."), braid.From(servers))
//
// The protocol itself is the official Go SDK's. Both of its eras are spoken:
// sessions that begin with "initialize" (2024-11-05 to 2025-11-25) and the
// stateless form of 2026-07-28, which is tried first. What is added here is what
// an agent needs around it: names that do not clash, schemas that every provider
// takes, results as blocks, sizes and times with a bound, a server that is
// started or reached again when it has gone, and an end that leaves nothing
// behind.
//
// # What is trusted
//
// A server is somebody else's program. So commands are refused unless
// [Options.Commands] says otherwise; a child gets only the environment that is
// listed for it; what a server says about its own tools (that one only reads, or
// may be repeated) counts only where [Options.Trusted] names the server;
// headers go to the configured host and to no other; and the instructions of a
// server stand in the prompt as what they are, a text from that server.
package mcptool
