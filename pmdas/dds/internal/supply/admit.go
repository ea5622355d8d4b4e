package supply

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
)

// admit opens a segment.
func (p *Supply) admit(file string, made int64) {
	if p.suppliers[file] != nil {
		return
	}
	uid, ok := owner(file)
	if !ok {
		return
	}
	u := p.Users.Of(uid)
	defer p.Users.Forget(u)
	s, err := p.openSupplier(file, u)
	if err != nil {
		p.refuse(file, err)
		return
	}
	u.Memory += s.r.Memory() // Open has checked that there is room
	s.made, s.fresh = made, true
	p.fresh++
	delete(p.refused, file)
	p.suppliers[file] = s
	p.order = append(p.order, s)
	u.Suppliers++
	u.Bytes += s.bytes
	p.Counts.Opened++
	p.findTimeouts(s)
	p.notify(s)
	s.source = p.Table.Opened(s)
}

// owner returns the user that a segment's name names: UID-PID-RANDOM.dds.
func owner(file string) (uint32, bool) {
	digits, _, ok := strings.Cut(file, "-")
	uid, err := strconv.ParseUint(digits, 10, 32)
	return uint32(uid), ok && err == nil
}

// openSupplier opens a segment, within what the user has left.
func (p *Supply) openSupplier(file string, u *account.User) (*Supplier, error) {
	if u.Suppliers >= p.Conf.Suppliers {
		return nil, account.Over("suppliers", "maxsuppliers", p.Conf.Suppliers)
	}
	r, err := reader.Open(p.dir.Path(file), reader.Limits{
		Size: p.Conf.Bytes - u.Bytes, Contexts: p.Conf.Contexts, Stats: p.Conf.Statistics,
		Memory: p.Users.Left(u)})
	if err != nil {
		return nil, err
	}
	if r.Info().UID != u.UID {
		r.Close()
		return nil, fmt.Errorf("%w: the file's name says user %d, and it belongs to user %d", reader.ErrOwner, u.UID, r.Info().UID)
	}
	if alive, err := r.Alive(); err != nil || !alive {
		r.Close()
		p.remove(file)
		p.dropNotice(file)
		return nil, errors.Join(errDead, err)
	}
	return &Supplier{File: file, User: u, r: r, bytes: r.Bytes()}, nil
}

var errDead = errors.New("its process is gone")

// remove removes the file that a supplier left behind.
func (p *Supply) remove(file string) {
	if p.Trying {
		return
	}
	if err := p.dir.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		uid, _ := owner(file)
		p.Complain(uid, "%s: %v", file, err)
	}
}
