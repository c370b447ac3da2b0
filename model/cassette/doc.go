// Package cassette records what is said to a model and what it answers, and plays
// it again: the same requests get the same answers, chunk by chunk, with no key, no
// network and no cost.
//
//	file, err := cassette.Create("talk.jsonl")
//	agent := braid.New("calc", cassette.Record(model, file), …)
//
//	player, err := cassette.Open("talk.jsonl")
//	agent := braid.New("calc", player, …)
//
// What is recorded is what the loop sees, in Braid's words: requests and chunks,
// not bytes of a vendor's wire. So the whole loop runs at a replay, its tools really,
// and gives the events that it gave. A request that is not what was recorded is an
// error that says where they differ; it never gets somebody else's answer.
//
// # The file
//
// One JSON text is one line, so that files can be compared, cut and searched:
//
//	{"kind":"cassette","version":1,"recorded":"2026-11-21T01:02:03Z"}
//	{"kind":"model","model":1,"name":"demo:tour","simulated":true}
//	{"kind":"setup","setup":1,"instructions":"You add.","tools":[…]}
//	{"kind":"request","n":1,"model":1,"run":1,"cycle":1,"attempt":1,"setup":1,"messages":[…]}
//	{"kind":"chunk","n":1,"at_ns":312000,"chunk":"text","text":"It is "}
//	{"kind":"end","n":1,"at_ns":401000}
//
// Lines come in this order for each exchange, which its n names; those of calls at
// the same time stand among each other. "run" counts the runs in the order of their
// first requests. A request whose first messages are those of an earlier one says so with
// "as" and "keep" instead of repeating them. "at_ns" is since the request. A
// chunk's bytes stand under "base64" where they are no UTF-8. "end" holds "error" or
// "plain" (an error of no kind), and "left" where not the model but its caller ended
// the call.
//
// Reading is strict: unknown kinds and keys are refused, a later version is
// [event.ErrNewer]. A file of which the end was cut off, as a kill leaves it, can be
// read up to there; the call that was being answered, and those behind it, are errors.
//
// # Secrets
//
// Before anything is written, the secrets given by [Secrets], what has the form of a
// key (secret.Find) and what the functions of [Redact] find are replaced by
// "[redacted]", also where a secret is cut by the border of two chunks; what was hidden then
// stands in the chunk in which it began. For that an answer is held back until it is
// whole, and written in one piece with its end. Headers and addresses are never seen here.
// At a replay "[redacted]" fits anything, so that the secrets need not be known again. The
// rest is not hidden: what people, models and tools say stands in the file, also what a
// guardrail or an [event.Redacted] takes back later. [Create] gives a file that only its owner may read.
package cassette
