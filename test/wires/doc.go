// Package wires runs whole agents against the stand-ins of every vendor, which refuse what their
// vendors refuse: what the loop does is held where it reaches a provider.
package wires
