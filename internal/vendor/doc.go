// Package vendor is what clients of a vendor's server have in common, whatever they ask it: how a
// request is sent, how long it asks to wait, what of its words is fit for people, how a call ends
// whose caller has had enough, and which addresses it can have. What its errors mean is the
// client's business.
package vendor
