package directory

import "errors"

// Close ends all watches: it calls their gone functions. It writes the counts of refused requests
// and the uses of keys, so the database must still be open.
func (d *Directory) Close() error {
	d.watches.close()
	return errors.Join(d.closeRefusals(), d.closeUses())
}
