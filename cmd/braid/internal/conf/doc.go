// Package conf is the command's configuration. One table of options serves flags, environment, file,
// help and `braid doctor`. The package also parses the flags of commands, and gives commands access to
// the system.
package conf
