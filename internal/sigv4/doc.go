// Package sigv4 verifies what signed AWS requests claim, as AWS does, for loopback
// servers that stand in for it (AWS IAM User Guide, "Create a signed AWS API
// request"). It signs nothing.
package sigv4
