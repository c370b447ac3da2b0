// Package webhooks sends messages about a tenant's runs to addresses that the tenant names, as
// Standard Webhooks describes: https://github.com/standard-webhooks/standard-webhooks.
//
// No message is lost. Before an event that matters is committed to the journal, [Outbox.Note] writes
// a notice with its place. After the commit, or in another process after a crash, the outbox reads
// the event at that place and writes one delivery for each webhook that wants it. A notice without
// an event is dropped.
//
// A message is delivered at least once, with the same webhook-id each time. A delivery is tried at
// once and again for a day ([LastAttempt]). Servers that share a database claim deliveries for a
// minute, so that normally one of them sends each.
//
//   - message.go makes messages from events, sign.go signs them, schedule.go says when a delivery is
//     tried again, and send.go sends one. None of them has the database.
//   - rows.go has the statements over notices and deliveries.
//   - note.go, settle.go and deliver.go do the work of an [Outbox]: before a commit, after it, and
//     sending. outbox.go runs them.
//   - manage.go answers requests: lists, replays and tests.
package webhooks
