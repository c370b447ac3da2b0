package conf

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// DefaultAddr is where the server answers: on this machine alone.
const DefaultAddr = "127.0.0.1:7421"

// Tenant is the one whose conversations are in the data folder, whether the command or
// the server keeps them.
const Tenant = "default"

// TokenEnv holds a server's token. There is no flag for it: what stands on a command
// line can be read by others.
const TokenEnv = EnvPrefix + "TOKEN"

// ServerEnv names the server that braid admin talks to where no flag does.
const ServerEnv = EnvPrefix + "SERVER"

// TokenFile is where the data folder keeps the token.
const TokenFile = "token"

// ServerFlags are those of the commands that can talk to a server.
func ServerFlags() []Flag {
	return []Flag{
		{
			Name: "server", Value: "URL",
			Help: "talk to a braid serve there (http://…, https://…, unix:PATH); the agent, its model and its tools are the server's",
		},
		{
			Name: "token-file", Value: "FILE",
			Help: "file with the server's token; empty is " + TokenEnv + ", or the data folder's for a server on this machine",
		},
	}
}

// FindToken looks for the server's token: a file that is named, the environment, and
// the data folder, whose token is for a server on this machine alone.
func (p *System) FindToken(cfg *Config, file, address string) (secret.Secret, error) {
	if file == "" {
		if t := secret.New(p.Getenv(TokenEnv)); !t.Empty() {
			return t, nil
		}
		if !onThisMachine(address) {
			return secret.Secret{}, &event.Error{
				Kind: event.ErrUnauthenticated, Message: "the server's token is not known",
				Hint: "set " + TokenEnv + ", or name a file with --token-file",
			}
		}
		file = filepath.Join(cfg.Data, TokenFile)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return secret.Secret{}, &event.Error{
			Kind: event.ErrUnauthenticated, Message: "the server's token cannot be read",
			Hint: "braid serve prints it: set " + TokenEnv + ", or name a file with --token-file", Err: err,
		}
	}
	return secret.New(string(data)), nil
}

func onThisMachine(address string) bool {
	if strings.HasPrefix(address, UnixPrefix) {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// UnixPrefix begins the address of a socket in the file system.
const UnixPrefix = "unix:"
