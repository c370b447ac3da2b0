// Package e2e tests the command as it is built and installed: its output in a
// pipe and on a pseudo terminal, its exit codes, signals and broken pipes. It
// imports nothing of Braid; what a test sees here is what a person sees.
package e2e
