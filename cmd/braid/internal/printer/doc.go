// Package printer prints events: the transcript of a run, the timeline of a conversation, traces, and
// JSON lines.
package printer
