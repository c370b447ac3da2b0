package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// readyRun is the name in --only of the command's start.
const readyRun = "server-ready"

// ready is the cost of the command before its first request.
type ready struct {
	// NewMS is the time in milliseconds until the command is ready in a new folder, AgainMS that in an existing one.
	NewMS   spread `json:"new_ms"`
	AgainMS spread `json:"again_ms"`
	// MiB is its resident memory after a second without work.
	MiB spread `json:"idle_mib"`
	// BinaryMB is the size of the stripped command in millions of bytes.
	BinaryMB float64 `json:"binary_mb"`
}

// timeReady builds and starts the command. The short form omits it, because building takes longer than everything
// else.
func timeReady(ctx context.Context, opt *options, rep *report, pl plan, c *command, show *progress) (err error) {
	if !opt.wants(readyRun) || opt.short && len(opt.only) == 0 {
		return nil
	}
	folder, err := os.MkdirTemp("", "braid-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	show.say("building the command")
	command, err := c.build(ctx)
	if err != nil {
		return err
	}
	info, err := os.Stat(command)
	if err != nil {
		return err
	}
	rep.Ready = &ready{BinaryMB: float64(info.Size()) / 1e6}
	var fresh, again, memory []float64
	for n := range 3 * pl.Server {
		show.say("start %d of %d of the command", n+1, 3*pl.Server)
		data := filepath.Join(folder, fmt.Sprint("data", n))
		first, _, err := startOnce(ctx, command, data, 0)
		if err != nil {
			return err
		}
		second, rss, err := startOnce(ctx, command, data, time.Second)
		if err != nil {
			return err
		}
		ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
		fresh, again = append(fresh, ms(first)), append(again, ms(second))
		memory = append(memory, float64(rss)/(1<<20))
	}
	rep.Ready.NewMS, rep.Ready.AgainMS, rep.Ready.MiB = spreadOf(fresh), spreadOf(again), spreadOf(memory)
	return nil
}

// startOnce starts the command, waits until it is ready and then for idle, reads its memory and stops it.
func startOnce(ctx context.Context, command, data string, idle time.Duration) (took time.Duration, rss int64, err error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, command, "serve", "--addr", addr, "--data", data, "--model", "demo", "--log", "none") //nolint:gosec // just built
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
		if e := cmd.Wait(); e != nil && err == nil {
			err = fmt.Errorf("the command ended: %w", e)
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	for {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if time.Since(begun) > 10*time.Second {
			return 0, 0, errors.New("the command was not ready in 10 s")
		}
		res, err := client.Get("http://" + addr + "/readyz") //nolint:noctx // it has a timeout
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
	took = time.Since(begun)
	time.Sleep(idle)
	return took, resident(cmd.Process.Pid), nil
}

// freeAddress returns an address that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
