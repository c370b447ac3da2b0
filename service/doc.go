// Package service runs agents for many tenants: it keeps their conversations, accepts and drives
// runs, and serves events to followers. It knows nothing of HTTP.
//
// Every request is made by a [Principal], which comes from a credential and never from a request's
// body. Another tenant's conversation is not found, as if it did not exist.
//
// The journal holds the logs. [Rows] holds the other data of conversations, such as titles and
// metadata. An engine drives the runs that [Service.StartRun] accepts, and a bus carries their
// events to followers ([Service.Follow]). The service decides which agent answers, with which
// model, limits and tokens.
//
// Begin with execute.go: it takes a run from its request to its end. A file uses files of its own
// layer and of those below it:
//
//   - Data and pure functions: rows.go, options.go, request.go, agent_options.go,
//     execution_context.go, run_metadata.go, page.go, the caches, the errors.
//   - [conversations] reads and changes conversations, and [quotas] holds tenants to their quotas.
//     Neither has the engine, so neither can accept, drive or stop a run. session.go, isolation.go,
//     pin.go, follow.go, weigh.go, storage.go and meter.go are theirs.
//   - [OptionsBuilder], [TitleGenerator], [MessageProcessor] and the completer of message logs each
//     do one part of a run's work with these.
//   - [Service] has the engine. ready.go makes a run's agent, admit.go admits the run, execute.go
//     drives it; the files with names of requests (create_conversation.go, fork.go, runs.go,
//     operate.go and others) answer them. lifecycle.go begins and ends the service.
package service
