package keyset_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	tink "github.com/tink-crypto/tink-go/v2/keyset"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret/keyset"
)

// ofTink reads a file of keys with Tink.
func ofTink(t *testing.T, file string) *tink.Handle {
	t.Helper()
	data := must[[]byte](t)(os.ReadFile(file))
	return must[*tink.Handle](t)(insecurecleartextkeyset.Read(tink.NewJSONReader(bytes.NewReader(data))))
}

// put writes a keyset of Tink into a file.
func put(t *testing.T, h *tink.Handle) (file string) {
	t.Helper()
	var b bytes.Buffer
	if err := insecurecleartextkeyset.Write(h, tink.NewJSONWriter(&b)); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Tink reads the files and the values that are made here, also after keys were added and taken out.
func TestTinkReadsWhatIsWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.json")
	k := must[*keyset.Keyset](t)(keyset.Open(file))
	context := []byte("acme|model|big|secret")
	for range 3 {
		for _, text := range []string{"", "x", strings.Repeat("long ", 10_000)} {
			sealed := must[[]byte](t)(k.Seal([]byte(text), context))
			h := ofTink(t, file)
			a := must[interface {
				Decrypt(sealed, context []byte) ([]byte, error)
			}](t)(aead.New(h))
			if plain, err := a.Decrypt(sealed, context); err != nil || string(plain) != text {
				t.Errorf("Tink reads %.20q as %.20q, %v", text, plain, err)
			}
			if newest := must[*tink.Entry](t)(h.Primary()); !k.Newest(sealed) || newest.KeyID() != uint32(sealed[1])<<24|uint32(sealed[2])<<16|uint32(sealed[3])<<8|uint32(sealed[4]) {
				t.Error("it is not the newest key for both")
			}
		}
		if err := keyset.Rotate(file); err != nil {
			t.Fatal(err)
		}
	}
	if n := ofTink(t, file).Len(); n != 4 {
		t.Errorf("Tink sees %d keys, want 4", n)
	}
	must[int](t)(keyset.Prune(file))
	if n := ofTink(t, file).Len(); n != 1 {
		t.Errorf("Tink sees %d keys, want 1", n)
	}
}

// A file and values that Tink made are read, with every prefix and size that its keys of AES-GCM have, and go on to be
// Tink's after a change.
func TestWhatTinkWritesIsRead(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]*tinkpb.KeyTemplate{
		"AES-256-GCM": aead.AES256GCMKeyTemplate(), "AES-128-GCM": aead.AES128GCMKeyTemplate(), "without a prefix": aead.AES256GCMNoPrefixKeyTemplate(),
		"crunchy": func() *tinkpb.KeyTemplate {
			c := aead.AES256GCMKeyTemplate()
			c.OutputPrefixType = tinkpb.OutputPrefixType_CRUNCHY
			return c
		}(),
	} {
		h := must[*tink.Handle](t)(tink.NewHandle(template))
		file := put(t, h)
		a := must[interface {
			Encrypt(plain, context []byte) ([]byte, error)
			Decrypt(sealed, context []byte) ([]byte, error)
		}](t)(aead.New(h))
		sealed := must[[]byte](t)(a.Encrypt([]byte("planted"), []byte("here")))
		k := must[*keyset.Keyset](t)(keyset.Load(file))
		if plain, err := k.Open(sealed, []byte("here")); err != nil || string(plain) != "planted" {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
		if _, err := k.Open(sealed, []byte("there")); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: elsewhere: %v", name, err)
		}
		if plain, err := a.Decrypt(must[[]byte](t)(k.Seal([]byte("back"), nil)), nil); err != nil || string(plain) != "back" {
			t.Errorf("%s: Tink reads %q, %v", name, plain, err)
		}
		if err := keyset.Rotate(file); err != nil {
			t.Fatal(err)
		}
		if n := ofTink(t, file).Len(); n != 2 {
			t.Errorf("%s: Tink sees %d keys after a change", name, n)
		}
		if plain, err := k.Open(sealed, []byte("here")); err != nil || string(plain) != "planted" {
			t.Errorf("%s: after a change: %q, %v", name, plain, err)
		}
	}
}

// A key that is disabled decrypts nothing, and stays in the file.
func TestDisabledKeys(t *testing.T) {
	t.Parallel()
	m := tink.NewManager()
	old := must[uint32](t)(m.Add(aead.AES256GCMKeyTemplate()))
	newest := must[uint32](t)(m.Add(aead.AES256GCMKeyTemplate()))
	if err := m.SetPrimary(old); err != nil {
		t.Fatal(err)
	}
	a := must[interface {
		Encrypt(plain, context []byte) ([]byte, error)
	}](t)(aead.New(must[*tink.Handle](t)(m.Handle())))
	sealed := must[[]byte](t)(a.Encrypt([]byte("x"), nil))
	if err := errors.Join(m.SetPrimary(newest), m.Disable(old)); err != nil {
		t.Fatal(err)
	}
	file := put(t, must[*tink.Handle](t)(m.Handle()))
	k := must[*keyset.Keyset](t)(keyset.Load(file))
	if _, err := k.Open(sealed, nil); !errors.Is(err, event.ErrInvalid) {
		t.Errorf("a disabled key decrypts: %v", err)
	}
	if err := keyset.Rotate(file); err != nil {
		t.Fatal(err)
	}
	if n := ofTink(t, file).Len(); n != 3 {
		t.Errorf("there are %d keys", n)
	}
}

// Files that are nearly right are refused, as Tink refuses them, and no error has a key in it.
func TestKeysetsThatAreWrong(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s", 32)
	one := func(id int, status, prefix, kind string, value []byte) string {
		return fmt.Sprintf(`{"keyData":{"typeUrl":%q,"value":%q,"keyMaterialType":"SYMMETRIC"},"status":%q,"keyId":%d,"outputPrefixType":%q}`,
			kind, base64.StdEncoding.EncodeToString(value), status, id, prefix)
	}
	const kind = "type.googleapis.com/google.crypto.tink.AesGcmKey"
	good := []byte("\x1a\x20" + secret)
	whole := func(keys ...string) string { return `{"primaryKeyId":7,"key":[` + strings.Join(keys, ",") + `]}` }
	texts := map[string]string{
		"another kind":        whole(one(7, "ENABLED", "TINK", "type.googleapis.com/google.crypto.tink.AesEaxKey", good)),
		"a cut key":           whole(one(7, "ENABLED", "TINK", kind, good[:20])),
		"no key":              whole(one(7, "ENABLED", "TINK", kind, nil)),
		"a short key":         whole(one(7, "ENABLED", "TINK", kind, []byte("\x1a\x05abcde"))),
		"a key of 24":         whole(one(7, "ENABLED", "TINK", kind, []byte("\x1a\x18"+secret[:24]))),
		"a newer version":     whole(one(7, "ENABLED", "TINK", kind, append([]byte("\x08\x01"), good...))),
		"an endless number":   whole(one(7, "ENABLED", "TINK", kind, append([]byte("\x1a"), bytes.Repeat([]byte{0xff}, 12)...))),
		"a strange prefix":    whole(one(7, "ENABLED", "X", kind, good)),
		"a strange status":    whole(one(7, "ENABLED", "TINK", kind, good), one(8, "ODD", "TINK", kind, good)),
		"two of one id":       whole(one(7, "ENABLED", "TINK", kind, good), one(7, "ENABLED", "TINK", kind, good)),
		"disabled":            whole(one(7, "DISABLED", "TINK", kind, good)),
		"another is to do it": whole(one(8, "ENABLED", "TINK", kind, good)),
		"an encrypted keyset": `{"encryptedKeyset":"AAAA","keysetInfo":{}}`,
		"two keysets":         whole(one(7, "ENABLED", "TINK", kind, good)) + `{}`,
		"no base64":           strings.Replace(whole(one(7, "ENABLED", "TINK", kind, good)), "c3Nz", "****", 1),
	}
	right := filepath.Join(t.TempDir(), "right")
	if err := os.WriteFile(right, []byte(whole(one(7, "ENABLED", "TINK", kind, good))), 0o600); err != nil {
		t.Fatal(err)
	}
	must[*keyset.Keyset](t)(keyset.Load(right))
	for name, text := range texts {
		file := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := keyset.Load(file)
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if full := fmt.Sprintf("%v %+v", err, errors.Unwrap(err)); strings.Contains(full, "ssss") || strings.Contains(full, "c3Nz") {
			t.Errorf("%s: the error has the key: %s", name, full)
		}
		h, err := insecurecleartextkeyset.Read(tink.NewJSONReader(strings.NewReader(text)))
		if err == nil {
			_, err = aead.New(h)
		}
		if err == nil && name != "another kind" {
			t.Errorf("%s: Tink takes it", name)
		}
	}
	if !json.Valid([]byte(texts["disabled"])) {
		t.Error("the texts are no JSON")
	}
}
