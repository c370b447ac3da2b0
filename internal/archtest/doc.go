// Package archtest tests the architecture: imports between packages point one way, and the
// documents describe what exists. It has no code of its own.
package archtest
