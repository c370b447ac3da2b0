// Command overlay writes the changed copies of the code into a folder and prints the path of the file
// for the flag -overlay of the go command. It runs from the top of the module.
package main

import (
	"fmt"
	"os"

	"github.com/braidrun/braid/test/instrument"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: overlay FOLDER")
		os.Exit(2)
	}
	file, err := instrument.Overlay(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
	fmt.Println(file)
}
