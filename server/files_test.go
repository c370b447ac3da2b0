package server_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/workspace"
)

// withFiles is a server whose conversations have workspaces.
func withFiles(t *testing.T, q workspace.Quota) *site {
	t.Helper()
	return open(t, func(so *service.Options, _ *server.Options) {
		so.Workspaces = &q
	})
}

// content is the address of a file.
func content(conversation, path string) string {
	return "/v1/conversations/" + conversation + "/files/content?path=" + url.QueryEscape(path)
}

// put stores a file and returns its entity tag.
func (s *site) put(status int, conversation, path, text string, headers ...string) string {
	s.t.Helper()
	res := s.ask("PUT", content(conversation, path), text, headers...)
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("PUT %q: %d, %v, want %d: %s", path, res.StatusCode, err, status, raw)
	}
	return res.Header.Get("Etag")
}

// listed returns the paths of a workspace.
func (s *site) listed(conversation, parameters string) (paths []string) {
	s.t.Helper()
	page := s.json(200, "GET", "/v1/conversations/"+conversation+"/files"+parameters, "")
	for _, f := range page["data"].([]any) {
		paths = append(paths, f.(map[string]any)["path"].(string))
	}
	return paths
}

func TestFilesOfAConversation(t *testing.T) {
	t.Parallel()
	s := withFiles(t, workspace.Quota{})
	c := s.conversation()
	first := s.put(200, c, "notes/東京 x.txt", "one")
	s.put(200, c, "a.html", "<script>alert(1)</script>")
	s.put(200, c, "empty", "")
	if got := fmt.Sprint(s.listed(c, "")); got != "[a.html empty notes/東京 x.txt]" {
		t.Errorf("listed %s", got)
	}
	if got := fmt.Sprint(s.listed(c, "?folder=notes"), s.listed(c, "?limit=1&after=a.html")); got != "[notes/東京 x.txt] [empty]" {
		t.Errorf("listed %s", got)
	}
	res := s.ask("GET", content(c, "a.html"), "")
	body, _ := io.ReadAll(res.Body)
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Length": "25",
		"Content-Disposition": `attachment; filename="a.html"`,
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if string(body) != "<script>alert(1)</script>" {
		t.Errorf("read %q", body)
	}
	res = s.ask("GET", content(c, "notes/東京 x.txt"), "")
	if got, want := res.Header.Get("Content-Disposition"), `attachment; filename="__ x.txt"; filename*=UTF-8''%E6%9D%B1%E4%BA%AC%20x.txt`; got != want {
		t.Errorf("the name is %q, want %q", got, want)
	}
	if got := res.Header.Get("Etag"); got != first || got == "" {
		t.Errorf("the entity tag is %q, want %q", got, first)
	}
	// Conditions.
	s.put(409, c, "empty", "x", "If-None-Match", "*")
	s.put(409, c, "empty", "x", "If-Match", `"other"`)
	s.put(200, c, "notes/東京 x.txt", "two", "If-Match", first)
	s.put(409, c, "notes/東京 x.txt", "three", "If-Match", first)
	s.put(400, c, "empty", "x", "If-Match", "other")
	s.put(400, c, "empty", "x", "If-None-Match", `"other"`)
	// Removal.
	s.json(204, "DELETE", content(c, "empty"), "")
	s.json(404, "DELETE", content(c, "empty"), "")
	s.json(404, "GET", content(c, "empty"), "")
}

func TestForksHaveTheirFiles(t *testing.T) {
	t.Parallel()
	s := withFiles(t, workspace.Quota{})
	c := s.conversation()
	s.put(200, c, "a/b", "one")
	fork := s.json(201, "POST", "/v1/conversations/"+c+"/fork", "{}")["id"].(string)
	s.put(200, fork, "a/b", "two")
	res := s.ask("GET", content(c, "a/b"), "")
	if body, _ := io.ReadAll(res.Body); string(body) != "one" {
		t.Errorf("the origin holds %q", body)
	}
	s.json(204, "DELETE", "/v1/conversations/"+c, "")
	res = s.ask("GET", content(fork, "a/b"), "")
	if body, _ := io.ReadAll(res.Body); string(body) != "two" {
		t.Errorf("the fork holds %q", body)
	}
	s.json(404, "GET", "/v1/conversations/"+c+"/files", "")
}

func TestFilesAsAnArchive(t *testing.T) {
	t.Parallel()
	s := withFiles(t, workspace.Quota{})
	c := s.conversation()
	large := strings.Repeat("0123456789", 100_000)
	s.put(200, c, "a/b", large)
	s.put(200, c, "c", "two")
	res := s.ask("GET", "/v1/conversations/"+c+"/files/archive", "")
	archive, err := io.ReadAll(res.Body)
	if err != nil || res.Header.Get("Content-Type") != "application/zip" {
		t.Fatalf("%v, %v", res.Header, err)
	}
	read, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil || len(read.File) != 2 {
		t.Fatalf("%v, %v", read, err)
	}
	other := s.conversation()
	s.json(200, "POST", "/v1/conversations/"+other+"/files/archive", string(archive), "Content-Type", "application/zip")
	res = s.ask("GET", content(other, "a/b"), "")
	if body, _ := io.ReadAll(res.Body); string(body) != large {
		t.Errorf("the other conversation holds %d bytes", len(body))
	}
	s.json(400, "POST", "/v1/conversations/"+other+"/files/archive", "this is no archive", "Content-Type", "application/zip")
	// An empty workspace is an empty archive.
	res = s.ask("GET", "/v1/conversations/"+s.conversation()+"/files/archive", "")
	archive, _ = io.ReadAll(res.Body)
	if read, err = zip.NewReader(bytes.NewReader(archive), int64(len(archive))); err != nil || len(read.File) != 0 {
		t.Errorf("%v, %v", read, err)
	}
}

// TestHostileFiles tries names and sizes that are refused. Nothing may be left.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	s := withFiles(t, workspace.Quota{File: 1000, Bytes: 1500, Files: 3})
	c := s.conversation()
	for _, path := range []string{"", "..", "../x", "/etc/passwd", "a/../../b", `a\b`, "a\nb", "a\x00b", "con", "a\u202eb", "</workspace>", strings.Repeat("a/", 40), strings.Repeat("x", 2000)} {
		s.put(400, c, path, "x")
		s.json(400, "GET", content(c, path), "")
		s.json(400, "DELETE", content(c, path), "")
	}
	s.put(413, c, "large", strings.Repeat("x", 1001))
	s.put(413, c, "larger", strings.Repeat("x", 20<<20))
	s.put(200, c, "a", strings.Repeat("x", 1000))
	s.put(429, c, "b", strings.Repeat("x", 501))
	s.put(200, c, "b", strings.Repeat("x", 500))
	if got := fmt.Sprint(s.listed(c, "")); got != "[a b]" {
		t.Errorf("listed %s", got)
	}
	for _, c := range []string{"conv_none", "run_x", "conv_" + strings.Repeat("x", 300)} {
		s.put(404, c, "x", "x")
		s.json(404, "GET", "/v1/conversations/"+c+"/files", "")
		s.json(404, "GET", "/v1/conversations/"+c+"/files/archive", "")
	}
	s.json(400, "GET", "/v1/conversations/"+c+"/files?folder=../x", "")
	s.json(400, "GET", "/v1/conversations/"+c+"/files?limit=1001", "")
}

// TestAnUploadThatIsCutLeavesNothing ends a connection inside a body.
func TestAnUploadThatIsCutLeavesNothing(t *testing.T) {
	t.Parallel()
	s := withFiles(t, workspace.Quota{})
	c := s.conversation()
	s.put(200, c, "x", "before")
	address, _ := url.Parse(s.URL)
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\nhalf of it",
		content(c, "x"), address.Host, token)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, _ := io.ReadAll(conn) // the server answers, or closes
	_ = conn.Close()
	if strings.HasPrefix(string(res), "HTTP/1.1 2") {
		t.Errorf("the cut upload was accepted: %s", res)
	}
	got := s.ask("GET", content(c, "x"), "")
	if body, _ := io.ReadAll(got.Body); string(body) != "before" {
		t.Errorf("the file holds %q", body)
	}
}

func TestAServerWithoutWorkspacesSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	c := s.conversation()
	answer := s.json(422, "GET", "/v1/conversations/"+c+"/files", "")
	if got := answer["error"].(map[string]any)["message"]; got != "this server has no workspaces" {
		t.Errorf("got %v", got)
	}
	if res := s.ask("PUT", content(c, "x"), strings.Repeat("x", 10<<20)); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("got %d", res.StatusCode)
	}
}
