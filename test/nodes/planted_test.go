//go:build unix

package nodes

// Secrets that the tests give to servers, and search for where they must not occur.
const (
	plantedOwner    = "planted-owner-1b6f0d2c"
	plantedPassword = "planted-password-93ad7e41"
	plantedHeader   = "planted-header-5c20e8fb"
	plantedToken    = "planted-token-77d1f3a96e04b8c2"
)
