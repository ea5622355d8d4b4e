package probe

// maxRecords is bounded by the sequence number of ICMP, by which an error message
// names a request.
const maxRecords = 1 << 16

// record is what an engine keeps of a request that it sent.
type record struct {
	sent  int64 // just before the system call, engine's time
	left  int64 // when the kernel handed it to the device, engine's time; 0 unknown
	token uint64
	no    uint32
	check uint32 // low half of the cookie
}

// ring keeps the last requests, each in the place its number gives.
type ring []record

func newRing(n int) ring {
	if n <= 0 || n > maxRecords {
		n = maxRecords
	}
	size := 1
	for size < n {
		size *= 2
	}
	return make(ring, size)
}

// put makes room for request no, forgetting an older one.
func (r ring) put(p *payload) {
	r[p.no&uint32(len(r)-1)] = record{
		sent: p.sent, token: p.token, no: p.no, check: uint32(p.cookie),
	}
}

// get returns the record of request no, or nil.
func (r ring) get(no uint32) *record {
	if rec := &r[no&uint32(len(r)-1)]; rec.no == no && rec.sent != 0 {
		return rec
	}
	return nil
}

// drop forgets request no.
func (r ring) drop(no uint32) {
	r[no&uint32(len(r)-1)] = record{}
}

// bySeq returns the latest record with that sequence number, of requests up to
// last, or nil.
func (r ring) bySeq(seq uint16, last uint32) *record {
	return r.get(last - uint32(uint16(last)-seq))
}
