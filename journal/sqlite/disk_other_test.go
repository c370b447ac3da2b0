//go:build !linux

package sqlite_test

import "errors"

func fill(string) error { return errors.New("this takes Linux") }
