package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/agentcore"
)

// agentcoreAddr is the address at which AgentCore expects an agent, on the loopback interface.
const agentcoreAddr = "127.0.0.1:8080"

// agentcoreARN is the default runtime of the front door.
const agentcoreARN = "arn:aws:bedrock-agentcore:us-east-1:000000000000:runtime/braid-0000000000"

// agentcoreFlags are the flags of braid serve for AgentCore.
var agentcoreFlags = []conf.Flag{
	{Name: "agentcore", Help: "serve the protocol of agents in Amazon Bedrock AgentCore, and that of its API (" + agentcoreAddr + ")"},
	{Name: "agentcore-arn", Value: "ARN", Help: "the runtime's ARN in the API; it is printed at the start"},
	{Name: "agentcore-also", Value: "LIST", Help: "additional contents of streams: data, tool_use, ascii"},
	{
		Name: "agentcore-grace", Value: "TIME",
		Help: "time that a run continues after its client disconnects, so that an SDK can repeat the request (10s); 0 ends it at once",
	},
	{Name: "trust-platform", Help: "accept requests without a token; only inside AgentCore Runtime, where the platform checks them"},
}

// agentcoreOptions returns the options for AgentCore's protocols, if --agentcore is set.
func (h *instance) agentcoreOptions(cfg *conf.Config, in *conf.Invocation) (o agentcore.Options, err error) {
	if !in.On("agentcore") {
		for _, f := range agentcoreFlags {
			if in.Flags[f.Name] != "" {
				return o, term.Invalid("add --agentcore, or leave it out", "--%s goes with --agentcore", f.Name)
			}
		}
		return o, nil
	}
	o.Card = agentcore.Card{Name: printer.AgentName, Version: readBuild().Version}
	if o.Stream, err = agentcore.ParseStream(conf.Words(in.Flags["agentcore-also"])); err != nil {
		return o, err
	}
	if text := in.Flags["agentcore-grace"]; text != "" {
		if o.Grace, err = parseGrace(text); err != nil {
			return o, err
		}
	}
	if in.On("trust-platform") {
		if h.base != "" {
			return o, term.Invalid("leave --base-path out", "the platform calls its own paths, and none below %q", term.Fit(h.base, 40))
		}
		h.trusts, o.TrustPlatform = true, true
		return o, nil
	}
	file := filepath.Join(cfg.Data, awsKeysFile)
	keys, err := keepAWSKeys(file)
	if err != nil {
		return o, err
	}
	o.Runtime = cmp.Or(in.Flags["agentcore-arn"], agentcoreARN)
	o.Keys = func(_ context.Context, id string) (agentcore.Key, bool) {
		k, ok := keys[id]
		return k, ok
	}
	h.page = true
	h.agentcore = []string{"  arn    " + o.Runtime, "  keys   " + file}
	return o, nil
}

// parseGrace reads the time that a run continues without a client; 0 ends it at once.
func parseGrace(text string) (time.Duration, error) {
	d, err := conf.ParseTime(text)
	if err != nil {
		return 0, term.Invalid("write it as 10s or 1m, or 0 for none", "--agentcore-grace: %q %s", term.Fit(text, 40), err)
	}
	if d == 0 {
		return -1, nil
	}
	return d, nil
}

// awsKeysFile is the file in the data folder with the keys of the front door, in the form of AWS's
// credentials file. Each profile is a tenant.
const awsKeysFile = "aws-credentials"

// keepAWSKeys reads the keys, or creates a pair for the default tenant.
func keepAWSKeys(file string) (map[string]agentcore.Key, error) {
	fault := func(kind event.ErrorKind, message string, err error) error {
		return &event.Error{
			Kind: kind, Message: message, Err: err,
			Hint: `look at the file "` + awsKeysFile + `" in the data folder: nobody else may read it; remove it to create another`,
		}
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		text := "[" + conf.Tenant + "]\naws_access_key_id = AKIA" + rand.Text()[:16] +
			"\naws_secret_access_key = " + rand.Text() + rand.Text()[:14] + "\n"
		if err := writeNew(file, text); err != nil {
			return nil, fault(event.ErrPermission, "the AWS keys cannot be kept", err)
		}
		f, err = os.Open(file)
	}
	if err != nil {
		return nil, fault(event.ErrPermission, "the AWS keys cannot be read", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fault(event.ErrPermission, "the AWS keys can be read by others", nil)
	}
	keys, profile, id := map[string]agentcore.Key{}, "", ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			profile, id = strings.TrimSpace(line[1:len(line)-1]), ""
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "aws_access_key_id":
			id = value
		case "aws_secret_access_key":
			if profile == "" || id == "" || value == "" {
				return nil, fault(event.ErrInvalid, "a secret AWS key belongs to no id, or to no profile", nil)
			}
			if _, twice := keys[id]; twice {
				return nil, fault(event.ErrInvalid, "two profiles have the same AWS key", nil)
			}
			keys[id] = agentcore.Key{Secret: secret.New(value), Tenant: profile}
		}
	}
	if err := lines.Err(); err != nil || len(keys) == 0 {
		return nil, fault(event.ErrInvalid, "the file with the AWS keys holds none", err)
	}
	return keys, nil
}
