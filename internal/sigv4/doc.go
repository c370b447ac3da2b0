// Package sigv4 verifies signed AWS requests as AWS does (AWS IAM User Guide, "Create a signed AWS
// API request"). It is for servers that implement AWS APIs, and for fake servers in tests. [Clock]
// follows the clock of AWS for clients that sign. The package signs nothing.
package sigv4
