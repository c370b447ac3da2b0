//go:build unix && !planted

package kill

// buildTags are what the command is built with.
const buildTags = "failpoint"
