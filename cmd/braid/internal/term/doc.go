// Package term is the command's terminal: what it can show, colours, editing of lines, signals, and
// text that cannot control it. It also turns errors into messages for users.
package term
