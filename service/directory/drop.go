package directory

// Drop clears all caches of this process. A cache alone drops an entry only on a lookup of another
// one.
func (d *Directory) Drop() {
	d.tenants.drop()
	d.agents.drop()
	d.models.drop()
	d.mcpServers.drop()
	d.secrets.drop()
	d.bearers.drop()
}

func (c *cache[K, V]) drop() {
	c.mu.Lock()
	c.kept = nil
	c.mu.Unlock()
}
