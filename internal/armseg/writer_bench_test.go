package armseg

import (
	"testing"
	"time"
)

func benchTran(b *testing.B) *Tran {
	w, err := Attach(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	app, err := w.OpenApp("bench", "bench", "")
	if err != nil {
		b.Fatal(err)
	}
	t, err := w.Tran(app, "tran", "tran", "")
	if err != nil || !t.Activate() {
		b.Fatal(err)
	}
	return t
}

func BenchmarkClockPair(b *testing.B) {
	base := time.Now()
	for b.Loop() {
		x := time.Since(base)
		y := time.Since(base)
		_ = y - x
	}
}

func BenchmarkStartStop(b *testing.B) {
	t := benchTran(b)
	for b.Loop() {
		r := t.Start()
		r.Stop(Good, nil)
	}
}

func BenchmarkStartStopParallel(b *testing.B) {
	t := benchTran(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := t.Start()
			r.Stop(Good, nil)
		}
	})
}
