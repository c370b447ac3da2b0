package conf

import (
	"errors"
	"path/filepath"
)

// DataDir is the folder that braid keeps conversations in where nobody names
// another: below the folder that the platform has for a program's own data.
func DataDir(platform string, getenv func(string) string, home func() (string, error)) (string, error) {
	switch platform {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "braid"), nil
		}
		return "", errors.New("%LocalAppData% is not set")
	case "darwin", "ios":
		dir, err := home()
		return join(err, dir, "Library", "Application Support", "braid")
	}
	// A relative path is invalid by the XDG base directory specification, and to be ignored.
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "braid"), nil
	}
	dir, err := home()
	return join(err, dir, ".local", "share", "braid")
}

func join(err error, path ...string) (string, error) {
	if err != nil {
		return "", err
	}
	return filepath.Join(path...), nil
}
