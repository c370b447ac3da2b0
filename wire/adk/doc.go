// Package adk writes the events of a run as those of Google's Agent Development Kit, and reads them. The rules are those of
// adk-python 2.5; Go's and Java's forms are read too.
//
// [Event] is an event of ADK as data: [Decode] reads one in either style of keys, and [Event.AppendJSON] writes it in
// camelCase. [Encoder] writes the story of a conversation. docs/guide/adk.md says what becomes of each event and of each
// field.
package adk
