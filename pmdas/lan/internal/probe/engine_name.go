package probe

// NameOf returns the name of an engine as Open knows it, "" for one that is not of
// this package.
func NameOf(e Engine) string {
	if n, ok := e.(interface{ name() string }); ok {
		return n.name()
	}
	return ""
}

func (*probingEngine) name() string { return EngineProbing }
