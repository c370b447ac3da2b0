package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// defaultAddr is where the server answers: on this machine alone.
const defaultAddr = "127.0.0.1:7421"

// tenant is the one whose conversations are in the data folder, whether the command or
// the server keeps them.
const tenant = "default"

// tokenEnv holds a server's token. There is no flag for it: what stands on a command
// line can be read by others.
const tokenEnv = envPrefix + "TOKEN"

// serverEnv names the server that braid admin talks to where no flag does.
const serverEnv = envPrefix + "SERVER"

// tokenFile is where the data folder keeps the token.
const tokenFile = "token"

// serverFlags are those of the commands that can talk to a server.
func serverFlags() []flagSpec {
	return []flagSpec{
		{
			name: "server", value: "URL",
			help: "talk to a braid serve there (http://…, https://…, unix:PATH); the agent, its model and its tools are the server's",
		},
		{
			name: "token-file", value: "FILE",
			help: "file with the server's token; empty is " + tokenEnv + ", or the data folder's for a server on this machine",
		},
	}
}

// findToken looks for the server's token: a file that is named, the environment, and
// the data folder, whose token is for a server on this machine alone.
func (p *system) findToken(cfg *config, file, address string) (secret.Secret, error) {
	if file == "" {
		if t := secret.New(p.getenv(tokenEnv)); !t.Empty() {
			return t, nil
		}
		if !onThisMachine(address) {
			return secret.Secret{}, &event.Error{
				Kind: event.ErrUnauthenticated, Message: "the server's token is not known",
				Hint: "set " + tokenEnv + ", or name a file with --token-file",
			}
		}
		file = filepath.Join(cfg.Data, tokenFile)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return secret.Secret{}, &event.Error{
			Kind: event.ErrUnauthenticated, Message: "the server's token cannot be read",
			Hint: "braid serve prints it: set " + tokenEnv + ", or name a file with --token-file", Err: err,
		}
	}
	return secret.New(string(data)), nil
}

func onThisMachine(address string) bool {
	if strings.HasPrefix(address, unixPrefix) {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// unixPrefix begins the address of a socket in the file system.
const unixPrefix = "unix:"
