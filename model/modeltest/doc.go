// Package modeltest is the contract of [model.Model] in running form: what the
// loop relies on, whoever the provider is. A provider's tests call [Run] with a
// stand-in that speaks the provider's wire and refuses what the vendor refuses:
//
//	func TestContract(t *testing.T) {
//		modeltest.Run(t, modeltest.Provider{
//			Name: "mine", Loop: wires.Loop,
//			Open: func(tb testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) { … },
//		})
//	}
//
// Answers are told in Braid's words; the stand-in puts them into the vendor's.
// Nothing here looks at bytes of the wire: that is for the provider's own tests.
package modeltest
