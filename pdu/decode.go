package pdu

// Decode reads one whole PDU into a new struct of the type that its header names.
// The error is a *ParseError; ParseHeader says which causes it has for a bad header.
func Decode(b []byte) (PDU, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return nil, err
	}
	p := New(h.Type)
	if err := p.Parse(b); err != nil {
		return nil, err
	}
	return p, nil
}
