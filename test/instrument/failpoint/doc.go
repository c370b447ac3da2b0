// Package failpoint kills the process at the point that its environment names. Programs for tests call
// it, and package instrument puts its calls into copies of the code; production code has none.
package failpoint
