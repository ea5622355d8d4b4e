package collect

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/pcp-rtime/rtime/internal/armseg/reader"
)

// named is what the ids in a file of names stand for, by id less 1.
type named struct {
	apps   []*appRow // nil where there is none
	trans  []tran
	barren uint64 // the look in which an id was not found
}

// tran is a transaction of a user.
type tran struct {
	row  *tranRow
	mets *[MaxMetrics]*metricRow // nil until there are any
}

// update takes in what a user's programs have named since the last time.
func (c *counts) update(n *names) error {
	return n.r.Update(
		func(id uint32, a *reader.App) {
			n.named.apps = put(n.named.apps, id, c.rows.appOf(&c.conf, n.u.name, keyOf(a.Key), a.Descr))
		},
		func(id uint32, t *reader.Tran) {
			if a := at(n.named.apps, t.App); a != nil {
				row := c.rows.describedTran(&c.conf, a, n.u.name, keyOf(t.Key), t.Descr, description(n.r, id))
				n.named.trans = put(n.named.trans, id, tran{row: row})
				n.trace(id, row.Traced)
			}
		})
}

// keyOf returns the key of a name in the tables of rows. A program's name "other" must not be
// taken for the row that counts what is over a limit, so its first letter is written as bytes
// are that are not UTF-8.
func keyOf(key string) string {
	if key == other {
		return "%6Fther"
	}
	return key
}

// description is a hash of what an id's metrics are, or "" if it has none.
func description(r *reader.Names, id uint32) string {
	descs, ok, _ := r.Descs(id)
	if !ok {
		return ""
	}
	h := fnv.New32a()
	for _, d := range descs {
		h.Write(binary.LittleEndian.AppendUint32(nil, d.Type))
		h.Write(append([]byte(d.Name), 0))
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

// put stores v for an id.
func put[T any](list []T, id uint32, v T) []T {
	for uint32(len(list)) < id {
		var none T
		list = append(list, none)
	}
	list[id-1] = v
	return list
}

// at returns what is stored for an id.
func at[T any](list []T, id uint32) (v T) {
	if id == 0 || uint64(id) > uint64(len(list)) {
		return v
	}
	return list[id-1]
}

// tran returns what an id stands for, or nil. Programs name a transaction before they count in
// it, so an unknown id may have been named while this look was reading a process's file; then
// the file of names is read again. If an id is not found even so, nobody has named it, and the
// rest of this look reads the file of names no more.
func (c *counts) tran(n *names, id uint32) *tran {
	if t := n.named.tran(id); t != nil || id == 0 || n.named.barren == c.looks {
		return t
	}
	_ = c.update(n) // if the file was cut, the next look finds that
	t := n.named.tran(id)
	if t == nil {
		n.named.barren = c.looks
	}
	return t
}

// tran returns what is known of an id.
func (n *named) tran(id uint32) *tran {
	if id == 0 || uint64(id) > uint64(len(n.trans)) || n.trans[id-1].row == nil {
		return nil
	}
	return &n.trans[id-1]
}
