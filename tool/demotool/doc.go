// Package demotool is a set of small tools that really do something: a
// calculator, a clock, and files in a scratch folder. They are what the
// scripts of package model/demo drive, and an example of how tools are written.
//
// They are safe to give to any model: the calculator and the clock change
// nothing, and the files stay inside one folder, in number and size bounded.
package demotool
