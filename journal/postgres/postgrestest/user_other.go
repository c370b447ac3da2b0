//go:build !unix

package postgrestest

import "os/exec"

// runAs is never needed here.
type runAs struct{}

func dropRights() (*runAs, error) { return nil, ErrMissing }

func (*runAs) own(string) error { return nil }

func (*runAs) run(*exec.Cmd) {}
