// Package recordings reads real exchanges with providers for tests.
//
// They were made by the tests of charmbracelet/fantasy: each file is a list of requests and
// responses, plain and streamed, in the YAML of go-vcr (version 2). Keys are redacted.
// BRAID_FIXTURES names their folder; without it the tests are skipped. The recordings do not show
// how a stream was split in transit, so tests split it themselves ([Ways], [Borders]).
package recordings
