package agentcore

func (x *exchange) socket() error { return x.unknown() }
