//go:build unix && !linux

package nodes

import "errors"

func smallDisk(string) error { return errors.New("not on this system") }
