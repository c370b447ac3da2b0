package meter

// usage is what the system says of the process. What it does not say is nil.
type usage struct {
	// cpu is in seconds, started in seconds since 1970, the rest in bytes and in descriptors.
	cpu, started, resident, virtual, mostVirtual *float64
	open, mostOpen                               *float64
	received, sent                               *float64
}

// process adds what the system says of the process. What it does not say is left out.
func (s *Set) process() {
	for _, m := range []struct {
		kind       Kind
		name, help string
		of         func(usage) *float64
	}{
		{KindCounter, "cpu_seconds_total", "Processor time that the process took, in seconds.", func(u usage) *float64 { return u.cpu }},
		{KindGauge, "start_time_seconds", "When the process began, in seconds since 1970.", func(u usage) *float64 { return u.started }},
		{KindGauge, "resident_memory_bytes", "Memory that the process occupies.", func(u usage) *float64 { return u.resident }},
		{KindGauge, "virtual_memory_bytes", "Addresses that the process has.", func(u usage) *float64 { return u.virtual }},
		{KindGauge, "virtual_memory_max_bytes", "Most addresses that the process may have.", func(u usage) *float64 { return u.mostVirtual }},
		{KindGauge, "open_fds", "Files and connections that are open.", func(u usage) *float64 { return u.open }},
		{KindGauge, "max_fds", "Most files and connections that may be open.", func(u usage) *float64 { return u.mostOpen }},
		{KindCounter, "network_receive_bytes_total", "Bytes that the process's network received.", func(u usage) *float64 { return u.received }},
		{KindCounter, "network_transmit_bytes_total", "Bytes that the process's network sent.", func(u usage) *float64 { return u.sent }},
	} {
		s.add(&family{name: "process_" + m.name, help: m.help, kind: m.kind, read: func(w *writer) {
			if v := m.of(w.usage()); v != nil {
				w.sample(*v, nil)
			}
		}})
	}
}
