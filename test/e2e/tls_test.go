package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// certify writes a certificate for this machine, which signs itself, and its key.
func certify(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "braid.example"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return pool
}

// Over HTTPS the server speaks HTTP/2 with who can, also streams, and HTTP/1.1 with who cannot.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool := certify(t, cert, key)
	s := startServer(t, filepath.Join(dir, "data"), "--tls-cert", cert, "--tls-key", key, "--agentcore", "--model", "demo:assistant?first_byte=20ms&rate=30")
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Fatalf("it serves on %s", s.url)
	}
	var mu sync.Mutex
	connections := 0
	newest := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	oldest := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, NextProtos: []string{"http/1.1"}}, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	for _, transport := range []*http.Transport{newest, oldest} {
		t.Cleanup(transport.CloseIdleConnections)
		transport.TLSClientConfig.VerifyConnection = func(tls.ConnectionState) error {
			mu.Lock()
			defer mu.Unlock()
			connections++
			return nil
		}
	}
	for _, c := range []struct {
		name      string
		transport *http.Transport
		major     int
		alpn      string
	}{{"HTTP/2", newest, 2, "h2"}, {"HTTP/1.1", oldest, 1, "http/1.1"}} {
		s.http = &http.Client{Transport: c.transport}
		conv := "/v1/conversations/" + s.json(201, "POST", "/v1/conversations", "")["id"].(string)
		before := connections
		res := s.ask("POST", conv+"/runs", `{"user_input":"What is 6 times 7?"}`)
		if res.StatusCode != 200 || res.ProtoMajor != c.major || res.TLS == nil || res.TLS.NegotiatedProtocol != c.alpn || res.TLS.Version < tls.VersionTLS12 {
			t.Fatalf("%s: %s by %s, %+v", c.name, res.Status, res.Proto, res.TLS)
		}
		// The frames come one by one, while the run goes on and others ask beside it.
		lines := bufio.NewScanner(res.Body)
		var stream strings.Builder
		for lines.Scan() {
			stream.WriteString(lines.Text() + "\n")
			if lines.Text() == "event: text_delta" {
				break
			}
		}
		if got := s.json(200, "GET", conv, ""); got["status"] != "running" {
			t.Errorf("%s: while its stream is read the conversation is %v:\n%s", c.name, got["status"], &stream)
		}
		for lines.Scan() {
			stream.WriteString(lines.Text() + "\n")
		}
		if err := lines.Err(); err != nil || strings.Count(stream.String(), "event: result\n") != 1 || !strings.Contains(stream.String(), "42") {
			t.Errorf("%s: %v: the stream is\n%s", c.name, err, &stream)
		}
		if c.major == 2 && connections != before {
			t.Errorf("a stream and another request took %d connections more", connections-before)
		}
		if body, err := io.ReadAll(s.ask("POST", "/invocations", `{"prompt":"What is 6 times 7?"}`).Body); err != nil || !strings.Contains(string(body), "42") {
			t.Errorf("%s: AgentCore's door: %v: %s", c.name, err, body)
		}
	}
	// What is not that is not answered.
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11}); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 is answered")
	}
	plain, err := http.Get("http" + strings.TrimPrefix(s.url, "https") + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != 400 {
		t.Errorf("without TLS: %s", plain.Status)
	}
	// The command trusts whom the system trusts; elsewhere than here a variable cannot tell it that.
	if runtime.GOOS == "linux" {
		s.tells("SSL_CERT_FILE=" + cert)
	}
	token := []string{"BRAID_TOKEN=" + s.token}
	for _, address := range []string{s.url, strings.Replace(s.url, "127.0.0.1", "localhost", 1)} {
		a := tell(t, token, "run", "-q", "--server", address, "hello")
		if a.exit != 2 || !strings.Contains(a.errs, "certificate") || !strings.Contains(a.errs, "SSL_CERT_FILE") {
			t.Errorf("a certificate that nobody vouches for, at %s: %+v", address, a)
		}
	}
	if a := tell(t, token, "run", "-q", "--server", "http"+strings.TrimPrefix(s.url, "https"), "hello"); a.exit != 2 || !strings.Contains(a.errs, "look at the address") {
		t.Errorf("without TLS: %+v", a)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if log := s.log.String(); strings.Contains(log, cert) || strings.Contains(log, s.token) {
		t.Errorf("the log says\n%s", log)
	}
}

// A certificate that cannot be used is told at the start.
func TestCertificatesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	certify(t, at("cert.pem"), at("key.pem"))
	certify(t, at("other.pem"), at("others.pem"))
	write(t, at("empty.pem"), "")
	locked := at("locked.pem")
	write(t, locked, "x")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	cases := map[string]refusal{
		"no key":               {[]string{"--tls-cert", at("cert.pem")}, 2, "belong together", dir},
		"no certificate":       {[]string{"--tls-key", at("key.pem")}, 2, "belong together", dir},
		"a missing file":       {[]string{"--tls-cert", at("cert.pem"), "--tls-key", at("none.pem")}, 12, "no such file", dir},
		"another one's key":    {[]string{"--tls-cert", at("cert.pem"), "--tls-key", at("others.pem")}, 2, "cannot be used together", dir},
		"the wrong way round":  {[]string{"--tls-cert", at("key.pem"), "--tls-key", at("cert.pem")}, 2, "cannot be used together", dir},
		"an empty file":        {[]string{"--tls-cert", at("empty.pem"), "--tls-key", at("key.pem")}, 2, "cannot be used together", dir},
		"a folder":             {[]string{"--tls-cert", dir, "--tls-key", at("key.pem")}, 2, "cannot be used together", dir},
		"a socket that has it": {[]string{"--addr", "unix:" + at("s"), "--tls-cert", at("cert.pem"), "--tls-key", at("key.pem")}, 2, "a socket needs no certificate", dir},
	}
	if os.Getuid() != 0 {
		cases["a file of somebody else's"] = refusal{[]string{"--tls-cert", at("cert.pem"), "--tls-key", locked}, 11, "cannot be read", dir}
	}
	serveRefuses(t, cases)
}
