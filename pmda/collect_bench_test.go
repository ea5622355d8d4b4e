package pmda

import (
	"fmt"
	"io"
	"log"
	"testing"

	"github.com/pcp-rtime/rtime/pcp"
)

// BenchmarkCollect makes results without sending them: what is left when pipes and
// processes are taken away.
func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("8x%d", n), func(b *testing.B) {
			rows := &InDom[*int64]{OneLine: "rows"}
			a := &Agent{Name: "bench", Domain: 400}
			for i := range 8 {
				a.Metrics = append(a.Metrics, Metric{Name: fmt.Sprintf("bench.m%d", i), Item: i, Sem: pcp.SemInstant,
					OneLine: "m", Get: Per(rows, func(v *int64) (int64, bool) { return *v, true })})
			}
			s, err := New(a, Options{Log: log.New(io.Discard, "", 0)})
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				if _, err := rows.Add(fmt.Sprint(i), new(int64)); err != nil {
					b.Fatal(err)
				}
			}
			var ids []pcp.PMID
			for _, m := range s.table.list() {
				ids = append(ids, m.desc.PMID)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.collect(ids)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(8*n), "ns/value")
		})
	}
}
