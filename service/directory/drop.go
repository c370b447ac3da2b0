package directory

// Drop forgets everything that this process keeps in memory of the directory: it is read again when it is asked for.
// A cache alone forgets an entry only when somebody looks for another one.
func (d *Directory) Drop() {
	d.tenants.drop()
	d.agents.drop()
	d.models.drop()
	d.secrets.drop()
	d.bearers.drop()
}

func (c *cache[K, V]) drop() {
	c.mu.Lock()
	c.kept = nil
	c.mu.Unlock()
}
