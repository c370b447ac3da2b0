// Package cassette records the requests to a model and its answers, and replays them: the
// same requests get the same answers, chunk by chunk, without key, network or cost.
//
//	file, err := cassette.Create("talk.jsonl")
//	agent := braid.New("calc", cassette.Record(model, file), …)
//
//	player, err := cassette.Open("talk.jsonl")
//	agent := braid.New("calc", player, …)
//
// A recording holds requests and chunks as the loop sees them, and not a vendor's wire
// bytes. So a replay runs the whole loop, with real tools, and produces the same events. A
// request that differs from the recorded one is an error that describes the difference; it
// never gets another request's answer.
//
// # The file
//
// Each line is a JSON text, so that usual tools can compare and search files:
//
//	{"kind":"cassette","version":1,"recorded":"2026-11-21T01:02:03Z"}
//	{"kind":"model","model":1,"name":"demo:tour","simulated":true}
//	{"kind":"setup","setup":1,"instructions":"You add.","tools":[…]}
//	{"kind":"request","n":1,"model":1,"run":1,"cycle":1,"attempt":1,"setup":1,"messages":[…]}
//	{"kind":"chunk","n":1,"at_ns":312000,"chunk":"text","text":"It is "}
//	{"kind":"end","n":1,"at_ns":401000}
//
// The lines of an exchange have this order; its n identifies it. Lines of concurrent calls
// are interleaved. "run" numbers the runs in the order of their first requests. A request
// that begins with the messages of an earlier one refers to them with "as" and "keep".
// "at_ns" is the time since the request. A chunk's bytes are in "base64" if they are not
// UTF-8. "end" holds "error", or "plain" for an error that is not an *event.Error, and
// "left" if the caller ended the call.
//
// Reading is strict: unknown kinds and keys are errors, and a later version is
// [event.ErrNewer]. A truncated file, as after a crash, is readable up to the end. The
// call that was in progress, and all later calls, are errors.
//
// # Secrets
//
// Before writing, the package replaces by "[redacted]" the secrets given by [Secrets], text
// in the form of a key (secret.Find), and what the functions of [Redact] find. It also finds
// secrets that are split between chunks; the replacement is then in the first of them. So an
// answer is written only when it is complete, in one piece. Headers and addresses are
// never recorded. In a replay "[redacted]" matches any text, so that the secrets are not
// needed again. Nothing else is hidden: the file contains the text of users, models and
// tools, even if a guardrail or an [event.Redacted] removes it later. [Create] makes a file that
// only its owner may read.
package cassette
