// Program signin is an MCP server whose users sign in with OAuth, together with its authorization server, for trying out. It
// listens on loopback and signs everybody in without a password.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8001", "address on loopback")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *addr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return errors.Join(errors.New("it signs everybody in, so it listens on loopback only: use -addr 127.0.0.1:8001"), l.Close())
	}
	base := "http://" + l.Addr().String()
	server := &http.Server{Handler: newSite(base), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // it never fails for long
	fmt.Println("The MCP server is " + base + "/mcp, its authorization server " + base)
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
