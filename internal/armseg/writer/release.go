//go:build !amd64 || race

package writer

import "sync/atomic"

func release32(p *uint32, v uint32) { atomic.StoreUint32(p, v) }
func release64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
