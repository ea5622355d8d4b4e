package armkill

import "fmt"

// victim is what a process notes, as in testdata/kill.h.
type victim struct {
	App, Tran, Bad, Over uint64
	_                    [12]uint64
	Threads              [3]note
}

type note struct {
	Begun, Started      uint64
	StopBegun, Stopped  [3]uint64
	UpdateBegun, Update uint64
	_                   [6]uint64
}

// Counted is what a transaction's row says, or the difference between two rows.
type Counted struct {
	Count, Aborted, Failed, Abandoned, Updates uint64
}

// Sub returns the difference.
func (c Counted) Sub(d Counted) Counted {
	return Counted{c.Count - d.Count, c.Aborted - d.Aborted, c.Failed - d.Failed, c.Abandoned - d.Abandoned, c.Updates - d.Updates}
}

// sum adds up what the threads noted.
func (v *victim) sum() (n note) {
	for i := range v.Threads {
		t := &v.Threads[i]
		n.Begun += t.Begun
		n.Started += t.Started
		n.UpdateBegun += t.UpdateBegun
		n.Update += t.Update
		for k := range t.Stopped {
			n.StopBegun[k] += t.StopBegun[k]
			n.Stopped[k] += t.Stopped[k]
		}
	}
	return n
}

// Completed returns how many transactions the i-th process had stopped, with any status.
func (d *Driver) Completed(i int) uint64 {
	n := d.notes[i].sum()
	return n.Stopped[0] + n.Stopped[1] + n.Stopped[2]
}

// Check compares what was counted of the i-th process, which has ended, with what it noted:
// everything that had been completed must be counted, and nothing else but what was under
// way.
func (d *Driver) Check(i int, c Counted) error {
	v := &d.notes[i]
	if v.Bad != 0 {
		return fmt.Errorf("%s: the library's answer at line %d was wrong", Name(i), v.Bad)
	}
	n := v.sum()
	under := n.StopBegun[0] + n.StopBegun[1] + n.StopBegun[2] - d.Completed(i)
	for _, k := range []struct {
		what           string
		least, n, most uint64
	}{
		{"good", n.Stopped[0], c.Count, n.StopBegun[0]},
		{"aborted", n.Stopped[1], c.Aborted, n.StopBegun[1]},
		{"failed", n.Stopped[2], c.Failed, n.StopBegun[2]},
		{"updates", n.Update, c.Updates, n.UpdateBegun},
		{"started", n.Started - min(under, n.Started), c.Count + c.Aborted + c.Failed + c.Abandoned, n.Begun},
	} {
		if k.n < k.least || k.n > k.most {
			return fmt.Errorf("%s: %d %s, not %d to %d: %+v of %+v", Name(i), k.n, k.what, k.least, k.most, c, n)
		}
	}
	return nil
}
