package directory

// A model's key is encrypted for one place: its tenant, its model, its column and the model's life. Copied to another
// row, or to the row of another model that has the id by now, it cannot be decrypted.

// place is what a model's encrypted key belongs to.
func place(tenant, model, life string) []byte {
	return []byte(tenant + "|model|" + model + "|secret|" + life)
}

// lifelessPlace is what keys belong to that an earlier version encrypted: they fit every life of the model.
func lifelessPlace(tenant, model string) []byte {
	return []byte(tenant + "|model|" + model + "|secret")
}

// open decrypts a model's key. lifeless says that an earlier version encrypted it, so that it is to be encrypted anew.
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
