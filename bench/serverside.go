package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// serverSide is the first argument of the serving process. Only the rows over HTTP start it.
const serverSide = "serve-a-side"

// sideStat is the serving process's report about itself.
type sideStat struct {
	// CPU is its processor time so far.
	CPU time.Duration `json:"cpu"`
	// RSS is its resident memory in bytes; 0 if unknown.
	RSS int64 `json:"rss"`
}

// serveSide serves one side until its standard input ends. It prints its address, and then a line with its resource
// use for every line of input.
func serveSide(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	var spec struct {
		scenario.Served

		// Profile is a file for a CPU profile between the first and the last line; "" means none.
		Profile string `json:"profile"`
	}
	if len(args) != 1 {
		return errors.New("a server's side takes one argument")
	}
	if err := json.Unmarshal([]byte(args[0]), &spec); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if spec.OnDisk() && runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2) // as braid serve does: one waits for the disk
	}
	handler, end, err := spec.Handler(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer func() {
		err = errors.Join(err, srv.Close())
		if e := <-served; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	return answerStats(in, out, spec.Profile)
}

func answerStats(in io.Reader, out io.Writer, profile string) (err error) {
	lines := bufio.NewScanner(in)
	for n := 0; lines.Scan(); n++ {
		if n == 0 && profile != "" {
			f, err := os.Create(profile)
			if err != nil {
				return err
			}
			if err := pprof.StartCPUProfile(f); err != nil {
				return errors.Join(err, f.Close())
			}
			defer func() {
				pprof.StopCPUProfile()
				err = errors.Join(err, f.Close())
			}()
		}
		line, err := json.Marshal(sideStat{CPU: cpuTime(), RSS: resident(os.Getpid())})
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}
