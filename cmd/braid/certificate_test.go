package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
)

// certify writes a certificate for a name, and its key.
func certify(t *testing.T, cert, key, name string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certify(t, cert, key, "one.example")
	now := time.Now()
	p := &process{System: conf.System{Now: func() time.Time { return now }}}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	config, err := p.openTLS(&conf.Invocation{Flags: map[string]string{"tls-cert": cert, "tls-key": key}}, log)
	if err != nil {
		t.Fatal(err)
	}
	name := func(want string) {
		t.Helper()
		c, err := config.GetCertificate(nil)
		if err != nil || c.Leaf.Subject.CommonName != want {
			t.Errorf("it is %q, want %q: %v", c.Leaf.Subject.CommonName, want, err)
		}
	}
	name("one.example")
	certify(t, cert, key, "the second.example")
	name("one.example") // not every connection checks the files
	now = now.Add(certificateLook)
	name("the second.example")
	// An incomplete or broken renewal changes nothing and is logged once.
	if err := os.WriteFile(cert, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		now = now.Add(certificateLook)
		name("the second.example")
	}
	if n := strings.Count(out.String(), "stays in use"); n != 1 || strings.Contains(out.String(), dir) {
		t.Errorf("it is told %d times: %s", n, &out)
	}
	certify(t, cert, key, "the third one.example")
	now = now.Add(certificateLook)
	name("the third one.example")
}

func TestCertificatesThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certify(t, cert, key, "one.example")
	other := filepath.Join(dir, "other.pem")
	certify(t, filepath.Join(dir, "unused.pem"), other, "two.example")
	for _, c := range []struct {
		flags map[string]string
		want  event.ErrorKind
	}{
		{map[string]string{"tls-cert": cert}, event.ErrInvalid},
		{map[string]string{"tls-key": key}, event.ErrInvalid},
		{map[string]string{"tls-cert": cert, "tls-key": other}, event.ErrInvalid},
		{map[string]string{"tls-cert": key, "tls-key": cert}, event.ErrInvalid},
		{map[string]string{"tls-cert": cert, "tls-key": filepath.Join(dir, "none")}, event.ErrNotFound},
		{map[string]string{"tls-cert": cert, "tls-key": key, "addr": "unix:/run/x"}, event.ErrInvalid},
		{map[string]string{"tls-cert": cert, "tls-key": key, "chat": "true"}, event.ErrInvalid},
	} {
		p := &process{System: conf.System{Now: time.Now}}
		_, err := p.openTLS(&conf.Invocation{Flags: c.flags}, slog.New(slog.DiscardHandler))
		if term.KindOf(err) != c.want {
			t.Errorf("%v: %v, want %s", c.flags, err, c.want)
		}
		if message, hint := term.Describe(err); hint == "" || strings.Contains(message+hint, dir) {
			t.Errorf("%v: %q, %q: want a hint, and no path", c.flags, message, hint)
		}
	}
}
