// Package failpoint names the instants at which a process may be killed in a test.
// A build with the tag "failpoint" kills itself at the one that its environment
// names; in every other build a point is an empty function.
package failpoint
