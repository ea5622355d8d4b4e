package pdu

import "github.com/pcp-rtime/rtime/pcp"

// Type returns TypeInstanceReq.
func (p *InstanceReq) Type() Type { return TypeInstanceReq }

// Length returns 32 and the padded length of the name.
func (p *InstanceReq) Length() int { return HeaderLen + 20 + padded(len(p.Name)) }

// Append writes the request.
//
//	12  instance domain
//	16  eight bytes 0, which were a time once
//	24  instance, -1 for none
//	28  length of the name
//	32  name
func (p *InstanceReq) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeInstanceReq, from)
	b = put32(b, uint32(p.InDom))
	b = put64(b, 0)
	b = put32(b, uint32(p.Inst))
	return putString(b, p.Name)
}

// Parse reads the request; it does not ask that just one of instance and name is there.
func (p *InstanceReq) Parse(b []byte) error {
	c := open(b, TypeInstanceReq)
	p.InDom = pcp.InDom(c.u32("instance domain"))
	c.view("time", 8)
	p.Inst = c.i32("instance")
	p.Name = c.text("name")
	return c.done()
}

// Type returns TypeInstance.
func (p *Instance) Type() Type { return TypeInstance }

// Length returns 20, and for each instance 8 and the padded length of its name.
func (p *Instance) Length() int {
	n := HeaderLen + 8
	for i := range p.Instances {
		n += 8 + padded(len(p.Instances[i].Name))
	}
	return n
}

// Append writes the instances. In the answer to a look-up of one, either half may
// be left out: the instance as -1, the name empty.
//
//	12  instance domain
//	16  number of instances
//	20  for each: instance, length of the name, name
func (p *Instance) Append(b []byte, from int32) []byte {
	b = appendHeader(b, p.Length(), TypeInstance, from)
	b = put32(b, uint32(p.InDom))
	b = put32(b, uint32(len(p.Instances)))
	for i := range p.Instances {
		b = put32(b, uint32(p.Instances[i].ID))
		b = putString(b, p.Instances[i].Name)
	}
	return b
}

// Parse reuses the slice of the receiver.
func (p *Instance) Parse(b []byte) error {
	c := open(b, TypeInstance)
	p.InDom = pcp.InDom(c.u32("instance domain"))
	p.Instances = resize(p.Instances, c.count("number of instances", 8))
	for i := range p.Instances {
		p.Instances[i].ID = c.i32("instance")
		p.Instances[i].Name = c.text("name")
	}
	return c.done()
}
