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

// DefaultAddr is the default address of a server, on the loopback interface.
const DefaultAddr = "127.0.0.1:7421"

// Tenant owns the conversations in the data folder, both those of the command and those of the server.
const Tenant = "default"

// TokenEnv is the variable with the server's token. There is no flag for the token, because other users can
// read command lines.
const TokenEnv = EnvPrefix + "TOKEN"

// ServerEnv is the variable with the address for braid admin. The flag overrides it.
const ServerEnv = EnvPrefix + "SERVER"

// TokenFile is the name of the token's file in the data folder.
const TokenFile = "token"

// ServerFlags returns the flags of commands that can talk to a server.
func ServerFlags() []Flag {
	return []Flag{
		{
			Name: "server", Value: "URL",
			Help: "talk to the braid serve at this address (http://…, https://…, unix:PATH), which has the agent, its model and its tools",
		},
		{
			Name: "token-file", Value: "FILE",
			Help: "file with the server's token (" + TokenEnv + ", or for a server on this machine the data folder's file)",
		},
	}
}

// FindToken returns the server's token. It tries the named file, then the environment, then the data
// folder. The last one holds the token of a server on this machine only.
func (sys *System) FindToken(cfg *Config, file, address string) (secret.Secret, error) {
	if file == "" {
		if t := secret.New(sys.Getenv(TokenEnv)); !t.Empty() {
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

// UnixPrefix begins the address of a Unix socket.
const UnixPrefix = "unix:"
