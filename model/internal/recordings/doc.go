// Package recordings reads real exchanges with providers for tests.
//
// They were made by the tests of charmbracelet/fantasy: each file is a list of
// requests and answers, plain and streamed, in the YAML of go-vcr (version 2);
// keys are redacted. BRAID_FIXTURES names the folder that holds them, and a test is
// skipped where it is not set. A stream is there whole, so that where it was cut on
// its way is not known: tests cut it as they like ([Ways], [Borders]).
package recordings
