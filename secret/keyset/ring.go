package keyset

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ring is a cleartext keyset of Tink in JSON (developers.google.com/tink/wire-format, and
// proto/tink.proto of tink-crypto/tink). Braid reads and writes it without Tink's library, which
// would add fifty packages to every command. The tests check both directions against Tink.
type ring struct {
	Primary uint32 `json:"primaryKeyId"`
	Keys    []key  `json:"key"`
}

type key struct {
	Data   keyData `json:"keyData"`
	Status string  `json:"status"`
	ID     uint32  `json:"keyId"`
	Prefix string  `json:"outputPrefixType"`
}

type keyData struct {
	Type     string `json:"typeUrl"`
	Value    string `json:"value"`
	Material string `json:"keyMaterialType"`
}

const (
	aesGCM    = "type.googleapis.com/google.crypto.tink.AesGcmKey"
	symmetric = "SYMMETRIC"
	enabled   = "ENABLED"
	disabled  = "DISABLED"
	destroyed = "DESTROYED"

	// A sealed value begins with one of these prefixes and the key's id, or with nothing.
	prefixTink     = "TINK"
	prefixCrunchy  = "CRUNCHY"
	prefixLegacy   = "LEGACY"
	prefixRaw      = "RAW"
	versionTink    = 1
	versionCrunchy = 0
	prefixSize     = 5

	keySize = 32
)

// newRing returns a ring with one new key.
func newRing() *ring {
	r := &ring{}
	r.rotate()
	return r
}

// rotate adds a new key, which encrypts from now on.
func (r *ring) rotate() {
	id := newID()
	for id == 0 || slices.ContainsFunc(r.Keys, func(k key) bool { return k.ID == id }) {
		id = newID()
	}
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // it never fails
	r.Primary = id
	r.Keys = append(r.Keys, key{
		Data: keyData{Type: aesGCM, Value: base64.StdEncoding.EncodeToString(appendKey(nil, secret)), Material: symmetric}, Status: enabled, ID: id,
		Prefix: prefixTink,
	})
}

func newID() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint32(b[:])
}

// prune removes all keys but the encrypting one and returns their number.
func (r *ring) prune() (gone int) {
	had := len(r.Keys)
	r.Keys = slices.DeleteFunc(r.Keys, func(k key) bool { return k.ID != r.Primary })
	return had - len(r.Keys)
}

// parse parses a ring. Its errors do not contain the content.
func parse(data []byte) (*ring, error) {
	r := &ring{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // an unknown field would be lost when the file is written again
	if d.Decode(r) != nil {
		return nil, errors.New("it is no JSON of a keyset")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the keyset")
	}
	seen := make(map[uint32]bool)
	for _, k := range r.Keys {
		switch {
		case seen[k.ID]:
			return nil, fmt.Errorf("two keys have the id %d", k.ID)
		case k.Status != enabled && k.Status != disabled && k.Status != destroyed:
			return nil, fmt.Errorf("the status of the key %d is not known", k.ID)
		case k.ID == r.Primary && k.Status != enabled:
			return nil, fmt.Errorf("the key %d is to encrypt, and is not enabled", k.ID)
		}
		seen[k.ID] = true
	}
	if !seen[r.Primary] {
		return nil, errors.New("it has no key to encrypt with")
	}
	return r, nil
}

// opener decrypts with one key.
type opener struct {
	id uint32
	// prefix is the prefix of its values.
	prefix []byte
	gcm    cipher.AEAD
}

// openers returns the enabled keys, the encrypting one first.
func (r *ring) openers() ([]opener, error) {
	var all []opener
	for _, k := range r.Keys {
		if k.Status != enabled {
			continue
		}
		o, err := k.opener()
		if err != nil {
			return nil, fmt.Errorf("the key %d: %w", k.ID, err)
		}
		if k.ID == r.Primary {
			all = slices.Insert(all, 0, o)
		} else {
			all = append(all, o)
		}
	}
	return all, nil
}

func (k key) opener() (opener, error) {
	o := opener{id: k.ID}
	if k.Data.Type != aesGCM || k.Data.Material != symmetric {
		return o, errors.New("it is not one of AES-GCM")
	}
	switch k.Prefix {
	case prefixTink:
		o.prefix = binary.BigEndian.AppendUint32([]byte{versionTink}, k.ID)
	case prefixCrunchy, prefixLegacy:
		o.prefix = binary.BigEndian.AppendUint32([]byte{versionCrunchy}, k.ID)
	case prefixRaw:
	default:
		return o, errors.New("its prefix is not known")
	}
	// Protobuf's JSON accepts both alphabets of base64, padded or not.
	value, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(k.Data.Value), "="))
	if err != nil {
		return o, errors.New("it is no base64")
	}
	secret, err := keyIn(value)
	if err != nil {
		return o, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return o, errors.New("it has no size of AES")
	}
	o.gcm, err = cipher.NewGCMWithRandomNonce(block)
	return o, err
}

// These are the fields of AesGcmKey (proto/aes_gcm.proto of tink-crypto/tink) in protobuf's wire
// format: a number and a type in one byte.
const (
	fieldVersion  = 1 << 3   // a varint
	fieldKeyValue = 3<<3 | 2 // bytes
)

// appendKey appends an AesGcmKey. Its version 0 is omitted.
func appendKey(b, secret []byte) []byte {
	b = append(b, fieldKeyValue, byte(len(secret)))
	return append(b, secret...)
}

// keyIn parses an AesGcmKey.
func keyIn(b []byte) (secret []byte, err error) {
	for len(b) > 0 {
		field := b[0]
		n, size := binary.Uvarint(b[1:])
		if size <= 0 {
			return nil, errors.New("it is cut")
		}
		b = b[1+size:]
		switch field {
		case fieldVersion:
			if n != 0 {
				return nil, errors.New("its version is not known")
			}
		case fieldKeyValue:
			if n > uint64(len(b)) {
				return nil, errors.New("it is cut")
			}
			secret, b = b[:n], b[n:]
		default:
			return nil, errors.New("it has a field that is not known")
		}
	}
	if len(secret) != 16 && len(secret) != keySize {
		return nil, errors.New("it has no size of AES-GCM")
	}
	return secret, nil
}

// seal encrypts with the first key.
func seal(keys []opener, plain, context []byte) []byte {
	return keys[0].gcm.Seal(bytes.Clone(keys[0].prefix), nil, plain, context) //nolint:gosec // the cipher makes the nonce, at random
}

var errNoKeyFits = errors.New("no key fits")

// open decrypts with the keys whose prefix the value has, and with those without a prefix.
func open(keys []opener, sealed, context []byte) ([]byte, error) {
	for _, k := range keys {
		rest, ok := bytes.CutPrefix(sealed, k.prefix)
		if !ok {
			continue
		}
		if plain, err := k.gcm.Open(nil, nil, rest, context); err == nil {
			return plain, nil
		}
	}
	return nil, errNoKeyFits
}
