//go:build linux

package reader_test

import (
	"errors"
	"testing"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/internal/ddsseg/reader/readertest"
	"github.com/pcp-rtime/rtime/internal/shm"
)

// TestWhole: a reader notices that a file has become shorter, wherever it was cut off.
// It does so even if the lost part reads as zeros and causes no fault.
func TestWhole(t *testing.T) {
	for _, left := range []int64{0, 1, layout.HeaderLen, 1000, readertest.DefaultSize / 2, readertest.DefaultSize - 1} {
		s := sample(t, 0)
		r := open(t, s.Publish(t.TempDir(), -1))
		if err := r.Whole(); err != nil {
			t.Errorf("before: %v", err)
		}
		s.Truncate(left)
		if err := r.Whole(); !errors.Is(err, shm.ErrFault) {
			t.Errorf("%d bytes left: %v", left, err)
		}
	}
	s := sample(t, 0)
	r := open(t, s.Publish(t.TempDir(), -1))
	s.Truncate(readertest.DefaultSize + 1)
	if err := r.Whole(); err != nil {
		t.Errorf("a file that has grown: %v", err)
	}
	s.Put64(layout.HdrSize, readertest.DefaultSize+2)
	if err := r.Whole(); !errors.Is(err, shm.ErrFault) {
		t.Errorf("a file shorter than its header says: %v", err)
	}
}
