package models

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is a model server on this machine with OpenAI's protocol.
type Server struct {
	// Name is the program that usually has this port.
	Name string
	// Address is a host and a port.
	Address string
	// Models are the names of its models, at most ten.
	Models []string
}

// usual lists the default ports of local servers.
var usual = []struct {
	name, address string
}{
	{"Ollama", "127.0.0.1:11434"},
	{"LM Studio", "127.0.0.1:1234"},
	{"vLLM", "127.0.0.1:8000"},
	{"llama.cpp", "127.0.0.1:8080"},
}

const (
	probeTime = 150 * time.Millisecond
	probeSize = 64 << 10
	maxModels = 10
)

// LocalServers looks for model servers on this machine. It asks all default ports at once, each for
// at most 150 ms, and no other host.
func LocalServers(ctx context.Context) []Server {
	addresses := make([]string, len(usual))
	for i := range usual {
		addresses[i] = usual[i].address
	}
	found := probe(ctx, addresses)
	for i := range found {
		for _, u := range usual {
			if u.address == found[i].Address {
				found[i].Name = u.name
			}
		}
	}
	return found
}

// Offer returns a description of the server and how it is used.
func (s Server) Offer() string { return s.String() + "; " + s.use() }

// use describes how the server's models are used.
func (s Server) use() string {
	name := "NAME"
	if len(s.Models) > 0 {
		name, _, _ = strings.Cut(s.Models[0], " ")
	}
	return "use it with --model " + s.ref(name)
}

// String describes the server.
func (s Server) String() string {
	var b strings.Builder
	b.WriteString("a model server answers at " + s.Address)
	if s.Name != "" {
		b.WriteString(" (usually " + s.Name + ")")
	}
	switch len(s.Models) {
	case 0:
	case 1:
		b.WriteString(" with the model " + s.Models[0])
	default:
		b.WriteString(" with the models " + strings.Join(s.Models, ", "))
	}
	return b.String()
}

// probe asks loopback addresses for their models. It returns the servers that answered, in the
// order of addresses.
func probe(ctx context.Context, addresses []string) []Server {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	// No proxy, no redirect, no kept connection: the server must be on this machine.
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: probeSize}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	found := make([]*Server, len(addresses))
	var wg sync.WaitGroup
	for i, address := range addresses {
		wg.Go(func() {
			if models, err := list(ctx, client, address); err == nil {
				found[i] = &Server{Address: address, Models: models}
			}
		})
	}
	wg.Wait()
	var out []Server
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out
}

var errNoServer = errors.New("no model server")

// list asks one server for its models.
func list(ctx context.Context, client *http.Client, address string) ([]string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, errNoServer
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/models", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errNoServer
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, probeSize))
	if err != nil {
		return nil, err
	}
	var body struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &body) != nil || body.Data == nil {
		return nil, errNoServer // another program has this port
	}
	var names []string
	for _, m := range *body.Data {
		if plainRef.MatchString(m.ID) && len(names) < maxModels {
			names = append(names, m.ID)
		}
	}
	if n := len(*body.Data) - len(names); n > 0 && len(names) == maxModels {
		names[maxModels-1] += " and " + strconv.Itoa(n) + " more"
	}
	return names, nil
}

// ref returns a reference to a model of the server.
func (s Server) ref(model string) string {
	if s.Name == "Ollama" {
		return "ollama:" + model
	}
	return "openai:" + model + "?base=http://" + s.Address + "/v1"
}
