// Package sigv4 verifies what signed AWS requests claim, as AWS does (AWS IAM User
// Guide, "Create a signed AWS API request"): for a server that answers in AWS's place,
// and for those on loopback that stand in for it in tests. [Clock] keeps the time that AWS
// goes by, for those who sign. The package signs nothing.
package sigv4
