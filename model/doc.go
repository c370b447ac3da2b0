// Package model is the interface between the loop and language models: what a [Model] is asked
// ([Request]), what it answers ([Chunk]) and how it describes itself ([Info]).
//
// A provider implements Model and imports this package and package event, never the loop. The
// packages below model/ are the providers, and model/modeltest tests them against the contract.
// Package braid has aliases of these types, so that an agent needs no second import.
package model
