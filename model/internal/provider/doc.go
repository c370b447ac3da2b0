// Package provider is what the providers of models have in common as clients of
// somebody else's server: how long it asks to wait, what of its words is fit for
// people, how a call ends whose caller has had enough, and which addresses it can
// have. What its errors mean is the provider's business.
package provider
