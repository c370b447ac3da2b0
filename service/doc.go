// Package service is the execution service's domain: conversations of tenants, the
// runs in them, and what their watchers see. It knows nothing of HTTP.
//
// Everything that it does is asked for by a [Principal], which comes from a
// credential and never from a request's body. Another tenant's conversation is not
// found, as if it did not exist.
//
// The journal holds what happened; [Rows] holds what people call things (titles,
// archives, labels). An engine drives the runs that [Service.StartRun] has
// accepted, a bus carries their events to watchers ([Service.Follow]). The service
// itself decides which agent answers, with which model, limits and tokens.
package service
