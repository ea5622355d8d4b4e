package pdu

// Type returns TypeDescIDs.
func (p *DescIDs) Type() Type { return TypeDescIDs }

// Length returns 20 and 4 for each metric.
func (p *DescIDs) Length() int { return HeaderLen + 8 + 4*len(p.PMIDs) }

// Append writes the request.
//
//	12  -1
//	16  number of metrics
//	20  their PMIDs
func (p *DescIDs) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeDescIDs, from)
	b = put32(b, ^uint32(0))
	b = put32(b, uint32(len(p.PMIDs)))
	return putPMIDs(b, p.PMIDs)
}

// Parse does not look at the first word.
func (p *DescIDs) Parse(b []byte) error {
	c := open(b, TypeDescIDs)
	c.u32("status")
	p.PMIDs = c.pmids(p.PMIDs, c.count("number of metrics", 4))
	return c.done()
}

// Type returns TypeDescs.
func (p *Descs) Type() Type { return TypeDescs }

// Length returns 16 and 20 for each descriptor.
func (p *Descs) Length() int { return HeaderLen + 4 + descLen*len(p.Descs) }

// Append writes the descriptors.
//
//	12  number of descriptors
//	16  descriptors as in DESC, 20 bytes each
func (p *Descs) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeDescs, from)
	b = put32(b, uint32(len(p.Descs)))
	for i := range p.Descs {
		b = putDesc(b, &p.Descs[i])
	}
	return b
}

// Parse reads the descriptors as Desc does.
func (p *Descs) Parse(b []byte) error {
	c := open(b, TypeDescs)
	p.Descs = resize(p.Descs, c.count("number of descriptors", descLen))
	for i := range p.Descs {
		p.Descs[i] = c.desc()
	}
	return c.done()
}
