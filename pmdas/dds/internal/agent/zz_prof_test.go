package agent
import ("testing";"fmt";"os";"runtime";"runtime/pprof")
func TestZZ(t *testing.T) {
	runtime.MemProfileRate = 64
	const many = 20000
	heap := func() int {
		var m runtime.MemStats
		runtime.GC(); runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	l := newLab(t)
	s := volatiles(t, "big", 0)
	s.Publish(l.dir, -1)
	l.Names("")
	before := heap()
	for i := range uint32(many) {
		s.Add(i, 2, fmt.Sprintf("DDS/v/big/i%d", i), "")
	}
	l.is("rtime.dds.agent.contexts", fmt.Sprint("=", many))
	held := (heap() - before) / many
	f, _ := os.Create("/tmp/ddsrest-heap1"); pprof.WriteHeapProfile(f); f.Close()
	for i := range uint32(many) { s.Delete(i) }
	l.is("rtime.dds.agent.contexts", "=0")
	left := (heap() - before) / many
	f, _ = os.Create("/tmp/ddsrest-heap2"); pprof.WriteHeapProfile(f); f.Close()
	t.Log(held, left)
}
