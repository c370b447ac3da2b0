// Package braid runs AI agents.
package braid
