// Command testsum runs go test and says what came of it: a line for each
// package as it finishes, failures in full, then every skipped test with its
// reason, and last a line such as "212 passed, 0 failed, 3 skipped".
//
//	go run ./internal/testsum [-max 10m] [-total FILE] go test -json ./...
//	go run ./internal/testsum -closing FILE
//
// The first form passes the exit code of its command on. Tests that have
// subtests count through those, so that no failure is counted twice. A package
// that fails without a failed test (it does not compile, a goroutine panics,
// TestMain exits) counts as one failure. With -total, the counts are also
// added to a file; the second form prints the sum of what such a file holds.
package main
