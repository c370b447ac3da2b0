// Package model is the interface between the loop and language models: what a
// [Model] is asked ([Request]), what it answers ([Chunk]) and how it describes
// itself ([Info]).
//
// A provider implements Model and imports this package and package event, never the
// loop. The packages below model/ are the providers; model/modeltest holds them to
// the contract. Package braid repeats the names that its users write, so that an
// agent needs no second import.
package model
