// Package vendors holds no code. Its folders let the vendors' own SDKs read what the
// stand-ins of package model answer and what the providers ask, so that the vendor's code
// proves both sides. It is a module of its own, so that neither the command nor the tests of
// the main module compile those SDKs.
package vendors
