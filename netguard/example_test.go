package netguard_test

import (
	"fmt"

	"github.com/braidrun/braid/netguard"
)

func Example() {
	guard, err := netguard.New(netguard.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = guard.Client().Get("https://169.254.169.254/latest/meta-data/")
	fmt.Println(err)
	// Output:
	// Get "https://169.254.169.254/latest/meta-data/": netguard: the address of "169.254.169.254" is not public (link-local) (Use a public host, or ask the operator to allow this one.)
}
