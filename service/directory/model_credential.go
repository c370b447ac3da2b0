package directory

import (
	"context"
	"errors"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
)

// seal encrypts a model's new key, if it has one, and removes it from the model.
func (d *Directory) seal(op string, m *Model) ([]byte, error) {
	key := m.Credential.Secret
	if key.Empty() {
		return nil, nil
	}
	if d.keys == nil {
		return nil, noKeyset(op)
	}
	sealed, err := d.keys.Seal([]byte(key.Reveal()), place(m.Tenant, m.ID, m.Life))
	if err != nil {
		return nil, &event.Error{Op: op, Kind: event.ErrInternal, Message: "the key could not be encrypted", Err: err}
	}
	m.Credential = Credential{Ends: lastLetters(key)}
	return sealed, nil
}

// lastLetters returns the end of a key, so that users recognise it. It reveals nothing of a short
// key.
func lastLetters(s secret.Secret) string {
	if text := s.Reveal(); len(text) >= 16 {
		return strings.ToValidUTF8(text[len(text)-4:], "?")
	}
	return "…"
}

func noKeyset(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrUnsupported, Message: "this server has no key for encrypting secrets",
		Hint: "start it with a key file, or name an environment variable",
	}
}

// ErrMoved is the error of [Directory.Credential] if the model was changed or removed after the
// caller looked it up.
var ErrMoved = errors.New("the model has changed")

// Credential returns the key for a model's provider: the stored one, or that of the server's
// environment. It is empty if the server finds one by itself. It returns [ErrMoved] if the stored
// key belongs to another life or revision of the model. The key is cached no longer than the model.
func (d *Directory) Credential(ctx context.Context, m Model) (key secret.Secret, err error) {
	const op = "model credential"
	switch {
	case m.Credential.Env != "":
		key = secret.New(d.env(m.Credential.Env))
		if key.Empty() {
			return key, &event.Error{
				Op: op, Kind: event.ErrModelAuth, Message: "the server's environment has no key for this model",
				Hint: "ask the operator of this service",
			}
		}
		return key, nil
	case m.Credential.Ends == "":
		return secret.Secret{}, nil
	case d.keys == nil:
		return key, noKeyset(op)
	}
	key, err = lookup(ctx, &d.changes, &d.secrets, secretKey{m.Tenant, m.ID, m.Life, m.Revision}, func(ctx context.Context) (secret.Secret, error) {
		var sealed []byte
		err := d.db.Read(ctx, op, m.Tenant, func(tx *database.Tx) error {
			there, err := tx.Get(`SELECT secret FROM model WHERE tenant = ? AND id = ? AND life = ? AND revision = ? AND secret IS NOT NULL`,
				[]any{m.Tenant, m.ID, m.Life, m.Revision}, &sealed)
			if err == nil && !there {
				return &event.Error{
					Op: op, Kind: event.ErrConflict, Code: "MODEL_CHANGED", Message: "the model has just been changed",
					Hint: "try again", Err: ErrMoved,
				}
			}
			return err
		})
		if err != nil {
			return secret.Secret{}, err
		}
		plain, _, err := (&storedSecret{"model", m.Tenant, m.ID, m.Life, sealed}).open(d.keys)
		if err != nil {
			return secret.Secret{}, &event.Error{
				Op: op, Kind: event.ErrModelAuth, Message: "the key of this model cannot be decrypted", Hint: "set it again", Err: err,
			}
		}
		return secret.New(string(plain)), nil
	})
	if errors.Is(err, ErrMoved) { // the cached model is old, whichever process has changed it
		if e := d.changes.renew(ctx); e != nil {
			return key, e
		}
	}
	return key, err
}
