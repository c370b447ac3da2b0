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
package service
