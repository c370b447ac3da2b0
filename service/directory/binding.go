package directory

// Sealer encrypts stored values. context says where a value belongs. It is not stored, and must be
// the same when the value is opened.
type Sealer interface {
	Seal(plain, context []byte) (sealed []byte, err error)
	Open(sealed, context []byte) (plain []byte, err error)
}

// A model's key is encrypted for one place: its tenant, its model, its column and the model's life.
// Copied to another row, or to a later model with the same id, it cannot be decrypted.

// place returns the context for which a model's key is encrypted.
func place(tenant, model, life string) []byte {
	return []byte(tenant + "|model|" + model + "|secret|" + life)
}

// lifelessPlace returns the context of keys that an older version encrypted. It is the same for
// every life of the model.
func lifelessPlace(tenant, model string) []byte {
	return []byte(tenant + "|model|" + model + "|secret")
}

// storedSecret is a model's stored key.
type storedSecret struct {
	tenant, model, life string

	sealed []byte
}

// open decrypts a model's key. lifeless reports that an older version encrypted it, so that it must
// be encrypted again.
func (s *storedSecret) open(keys Sealer) (plain []byte, lifeless bool, err error) {
	if plain, err = keys.Open(s.sealed, place(s.tenant, s.model, s.life)); err == nil {
		return plain, false, nil
	}
	plain, old := keys.Open(s.sealed, lifelessPlace(s.tenant, s.model))
	if old != nil {
		return nil, false, err
	}
	return plain, true, nil
}
