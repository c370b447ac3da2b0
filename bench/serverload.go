package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/braidrun/braid/bench/scenario"
)

// loader is one reader of a server, with one connection and one conversation. It reads the bytes itself, because a
// client library would cost more than the server.
type loader struct {
	addr, token  string
	conversation string
	// prepared are requests for runs in new conversations. Each run uses one. Without any, the runs are in the
	// loader's conversation.
	prepared [][]byte
	conn     net.Conn
	in       *bufio.Reader
	post     []byte

	// The measurements of the last run, and of all runs.
	first  time.Duration
	whole  time.Duration
	deltas int
	held   []time.Duration
	// came is the arrival time of each delta of a paced run.
	came []time.Duration
}

// dial connects, and creates a conversation if the side has conversations.
func dial(ctx context.Context, addr, token string, converses bool, number int) (*loader, error) {
	l := &loader{addr: addr, token: token, conversation: fmt.Sprint("floor-", number)}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	l.conn, l.in = conn, bufio.NewReaderSize(conn, 16<<10)
	if converses {
		if err := l.begin(); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	l.aim()
	return l, nil
}

// aim prepares the requests for the loader's conversation.
func (l *loader) aim() {
	path := scenario.ServedPath + "/" + l.conversation
	l.post = request("POST", path+"/runs", l.addr, l.token, `{"user_input":"go"}`)
}

func (l *loader) close() error { return l.conn.Close() }

func request(method, path, addr, token, body string) []byte {
	head := method + " " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nAuthorization: Bearer " + token + "\r\n"
	if body != "" {
		head += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(head + "\r\n" + body)
}

// begin creates the loader's conversation.
func (l *loader) begin() error {
	res, err := l.ask(request("POST", scenario.ServedPath, l.addr, l.token, "{}")) //nolint:bodyclose // it is read to its end
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &made); err != nil || made.ID == "" {
		return fmt.Errorf("a conversation was answered with %s: %.200q", res.Status, body)
	}
	l.conversation = made.ID
	l.aim()
	return nil
}

// prepare creates more conversations, one for each of the next runs.
func (l *loader) prepare(conversations int) error {
	for range conversations {
		if err := l.begin(); err != nil {
			return err
		}
		l.prepared = append(l.prepared, l.post)
	}
	return nil
}

// next returns the request for the next run.
func (l *loader) next() []byte {
	if len(l.prepared) == 0 {
		return l.post
	}
	post := l.prepared[0]
	l.prepared = l.prepared[1:]
	return post
}

// await begins a run and reads its stream up to the first delta.
func (l *loader) await() error {
	res, err := l.ask(l.next()) //nolint:bodyclose // it is open as long as the connection
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("a run was answered with %s", res.Status)
	}
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		if name, ok := bytes.CutPrefix(line, nameLine); ok && bytes.Equal(bytes.TrimSpace(name), deltaName) {
			return nil
		}
	}
}

// hold begins a run without reading it.
func (l *loader) hold() error {
	res, err := l.ask(l.post) //nolint:bodyclose // it is open as long as the connection
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("a run was answered with %s", res.Status)
	}
	return err
}

func (l *loader) ask(request []byte) (*http.Response, error) {
	if _, err := l.conn.Write(request); err != nil {
		return nil, err
	}
	return http.ReadResponse(l.in, nil)
}

var (
	nameLine  = []byte("event: ")
	deltaName = []byte("text_delta")
	endName   = []byte("result")
	errorName = []byte("error")
)

// run requests a run and reads its stream to the end. every is the time between two deltas, 0 for none.
func (l *loader) run(every time.Duration) error {
	begun := time.Now()
	res, err := l.ask(l.next()) //nolint:bodyclose // it is read to its end
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		return fmt.Errorf("a run was answered with %s: %.200q", res.Status, body)
	}
	l.deltas, l.first = 0, 0
	lines := bufio.NewReaderSize(res.Body, 8<<10)
	ended := false
	for {
		line, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // a delta has no long line
			_, err = lines.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF) && ended:
			l.whole = time.Since(begun)
			l.note(every)
			return nil
		case err != nil:
			return err
		}
		if name, ok := bytes.CutPrefix(line, nameLine); ok {
			switch name = bytes.TrimSpace(name); {
			case bytes.Equal(name, deltaName):
				if l.deltas++; l.deltas == 1 {
					l.first = time.Since(begun)
				}
				if every > 0 {
					l.came = append(l.came, time.Since(begun))
				}
			case bytes.Equal(name, endName):
				ended = true
			case bytes.Equal(name, errorName):
				return errors.New("a run ended with an error")
			}
		}
	}
}

// note records how late each delta of a paced run was, relative to the earliest delta of the run. Both sides pace
// from the beginning of the answer, so a late delta does not delay later ones. A stream with merged deltas is not
// counted.
func (l *loader) note(every time.Duration) {
	first := time.Duration(1<<63 - 1)
	for i, came := range l.came {
		first = min(first, came-time.Duration(i)*every)
	}
	for i, came := range l.came {
		l.held = append(l.held, came-time.Duration(i)*every-first)
	}
	l.came = l.came[:0]
}

// loaders connects n readers, a few at a time. Each uses one of the keys.
func loaders(ctx context.Context, addr string, keys []string, converses bool, n int) (all []*loader, err error) {
	all = make([]*loader, n)
	defer func() {
		if err != nil {
			_ = closeLoaders(all) // the other error counts
			all = nil
		}
	}()
	return all, each(min(n, 64), n, func(i int) (err error) {
		all[i], err = dial(ctx, addr, keys[i%len(keys)], converses, i)
		return err
	})
}

func closeLoaders(all []*loader) error {
	var errs []error
	for _, l := range all {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	return errors.Join(errs...)
}

// each calls do for 0 to n-1 on several goroutines and returns the first error.
func each(goroutines, n int, do func(int) error) error {
	var wait sync.WaitGroup
	var once sync.Once
	var failed error
	next := make(chan int)
	for range goroutines {
		wait.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	return failed
}
