package ids

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
)

// names is a set of names with their numbers. It is made for very many names that stay for
// ever: a name costs its own bytes and about twenty more. The names lie one after another in
// chunks of memory, and two hash tables find a record by its name and by its number. Nothing
// is ever removed. The zero value is empty.
type names struct {
	records records
	count   int
	byName  index
	byID    index
}

// entry is a name with its number.
type entry struct {
	id   int32
	name string
}

// records are the chunks. A record is the number in four bytes, the length of the name in two,
// and the name. What was written stays as it is, so a copy of the slice can be read without
// lock while names are added.
type records [][]byte

const (
	chunkLen   = 1 << 16
	maxChunks  = 1 << 15 // so that a place, and one more, fits into 32 bits
	recordHead = 6
)

// at returns the record at a place.
func (r records) at(place uint32) (id int32, name []byte) {
	b := r[place/chunkLen][place%chunkLen:]
	n := int(binary.NativeEndian.Uint16(b[4:]))
	return int32(binary.NativeEndian.Uint32(b)), b[recordHead : recordHead+n]
}

// all yields the records in the order in which they were added.
func (r records) all() iter.Seq2[int32, []byte] {
	return func(yield func(int32, []byte) bool) {
		for i, chunk := range r {
			for at := 0; at < len(chunk); {
				id, name := r.at(uint32(i*chunkLen + at))
				if !yield(id, name) {
					return
				}
				at += recordHead + len(name)
			}
		}
	}
}

var seed = maphash.MakeSeed()

func hashID(id int32) uint64 { return uint64(uint32(id)) * 0x9e3779b97f4a7c15 }

// lookup returns the number of a name.
func (n *names) lookup(name string) (id int32, ok bool) {
	place, ok := n.byName.find(maphash.String(seed, name), func(place uint32) bool {
		_, s := n.records.at(place)
		return string(s) == name
	})
	if ok {
		id, _ = n.records.at(place)
	}
	return id, ok
}

// name returns the name of a number.
func (n *names) name(id int32) (name string, ok bool) {
	place, ok := n.byID.find(hashID(id), func(place uint32) bool {
		x, _ := n.records.at(place)
		return x == id
	})
	if ok {
		_, s := n.records.at(place)
		name = string(s)
	}
	return name, ok
}

// full reports whether there is no room for another name.
func (n *names) full() bool { return len(n.records) >= maxChunks }

// add adds a name of up to MaxName bytes. Neither it nor the number is there yet.
func (n *names) add(e entry) {
	last := len(n.records) - 1
	if last < 0 || len(n.records[last])+recordHead+len(e.name) > chunkLen {
		n.records = append(n.records, nil)
		last++
	}
	chunk := n.records[last]
	place := uint32(last*chunkLen + len(chunk))
	chunk = binary.NativeEndian.AppendUint32(chunk, uint32(e.id))
	chunk = binary.NativeEndian.AppendUint16(chunk, uint16(len(e.name)))
	n.records[last] = append(chunk, e.name...)
	n.count++
	n.byName.add(maphash.String(seed, e.name), place, func(place uint32) uint64 {
		_, s := n.records.at(place)
		return maphash.Bytes(seed, s)
	})
	n.byID.add(hashID(e.id), place, func(place uint32) uint64 {
		x, _ := n.records.at(place)
		return hashID(x)
	})
}

// index is a hash table of places of records. It has parts that grow one by one, so that no
// single call takes long.
type index [64]part

// part is an open hash table: a place stands in the slot of its hash, or in the next one that
// was free. A slot holds one more than the place; 0 is a free slot.
type part struct {
	slots []uint32
	used  int
}

// start returns where to begin to look for a hash: the highest bits tell the part, the next 32
// the slot.
func (x *index) start(hash uint64) (p *part, slot int) {
	p = &x[hash>>58]
	return p, int(hash << 6 >> 32 * uint64(len(p.slots)) >> 32)
}

// find returns the place of that hash that is the one.
func (x *index) find(hash uint64, is func(place uint32) bool) (place uint32, ok bool) {
	p, i := x.start(hash)
	if len(p.slots) == 0 {
		return 0, false
	}
	for ; p.slots[i] != 0; i = (i + 1) % len(p.slots) {
		if is(p.slots[i] - 1) {
			return p.slots[i] - 1, true
		}
	}
	return 0, false
}

// add adds a place. A part is at most three quarters full, and then becomes half as large
// again.
func (x *index) add(hash uint64, place uint32, hashOf func(place uint32) uint64) {
	p, _ := x.start(hash)
	if p.used >= len(p.slots)/4*3 {
		old := p.slots
		p.slots = make([]uint32, (len(old)+len(old)/2+4)/4*4)
		for _, s := range old {
			if s != 0 {
				x.put(hashOf(s-1), s)
			}
		}
	}
	x.put(hash, place+1)
	p.used++
}

func (x *index) put(hash uint64, value uint32) {
	p, i := x.start(hash)
	for p.slots[i] != 0 {
		i = (i + 1) % len(p.slots)
	}
	p.slots[i] = value
}
