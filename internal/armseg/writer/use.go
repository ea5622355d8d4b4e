package writer

import (
	"sync/atomic"

	"github.com/pcp-rtime/rtime/internal/armseg/layout"
)

// opened counts an application's arm_init. The lower half of the word counts the users,
// the upper half how often that went up from 0.
func (n *names) opened(app uint32) {
	use := word64(n.base, n.appAt(app)+layout.AppUse)
	for {
		old := atomic.LoadUint64(use)
		now := old + 1
		if uint32(old) == 0 {
			now += 1 << 32
		}
		if atomic.CompareAndSwapUint64(use, old, now) {
			return
		}
	}
}

// closed counts an arm_end. ok is false, and nothing is done, if there was no user.
func (n *names) closed(app uint32) (ok bool) {
	use := word64(n.base, n.appAt(app)+layout.AppUse)
	for {
		old := atomic.LoadUint64(use)
		if uint32(old) == 0 {
			return false
		}
		if atomic.CompareAndSwapUint64(use, old, old-1) {
			return true
		}
	}
}

// activate makes a transaction active. ok is false if its application is not in use.
func (n *names) activate(app, tran uint32) (ok bool) {
	use := get64(n.base, n.appAt(app)+layout.AppUse)
	if uint32(use) == 0 {
		return false
	}
	if epoch := word32(n.base, n.tranAt(tran)+layout.TranEpoch); atomic.LoadUint32(epoch) != uint32(use>>32) {
		atomic.StoreUint32(epoch, uint32(use>>32))
	}
	return true
}

func (n *names) use(app uint32) uint64 { return get64(n.base, n.appAt(app)+layout.AppUse) }
