package collect

// BlockLen is how many rows have their numbers in one Block.
const BlockLen = 64

// Block has the Numbers of BlockLen rows in columns: all values of one number lie side by
// side, in the order of rows. It never changes; a look that changes a row makes a new Block.
type Block struct {
	Seq uint64 // of the snapshot in which a number in it changed last

	Count, Aborted, Failed      [BlockLen]uint64
	Abandoned, Updates, BadData [BlockLen]uint64
	GoodNS, AbortedNS, FailedNS [BlockLen]uint64

	Seen           [BlockLen]bool
	Last, Min, Max [BlockLen]uint64
	AvgNS          [BlockLen]float64

	Active [BlockLen]int
	Oldest [BlockLen]int64

	Window WindowBlock
}

// WindowBlock has the columns of Window.
type WindowBlock struct {
	Count                 [BlockLen]uint64
	Rate, Mean            [BlockLen]float64
	Min, Max              [BlockLen]uint64
	Median, P80, P95, P99 [BlockLen]uint64
}

// At returns the numbers of a row, 0 to BlockLen - 1.
func (b *Block) At(i int) Numbers {
	w := &b.Window
	return Numbers{
		Count: b.Count[i], Aborted: b.Aborted[i], Failed: b.Failed[i],
		Abandoned: b.Abandoned[i], Updates: b.Updates[i], BadData: b.BadData[i],
		GoodNS: b.GoodNS[i], AbortedNS: b.AbortedNS[i], FailedNS: b.FailedNS[i],
		Seen: b.Seen[i], Last: b.Last[i], Min: b.Min[i], Max: b.Max[i], AvgNS: b.AvgNS[i],
		Active: b.Active[i], Oldest: b.Oldest[i],
		Window: Window{Count: w.Count[i], Rate: w.Rate[i], Mean: w.Mean[i], Min: w.Min[i], Max: w.Max[i],
			Median: w.Median[i], P80: w.P80[i], P95: w.P95[i], P99: w.P99[i]},
	}
}

// Set sets the numbers of a row while the Block is being made.
func (b *Block) Set(i int, n *Numbers) {
	w := &b.Window
	b.Count[i], b.Aborted[i], b.Failed[i] = n.Count, n.Aborted, n.Failed
	b.Abandoned[i], b.Updates[i], b.BadData[i] = n.Abandoned, n.Updates, n.BadData
	b.GoodNS[i], b.AbortedNS[i], b.FailedNS[i] = n.GoodNS, n.AbortedNS, n.FailedNS
	b.Seen[i], b.Last[i], b.Min[i], b.Max[i], b.AvgNS[i] = n.Seen, n.Last, n.Min, n.Max, n.AvgNS
	b.Active[i], b.Oldest[i] = n.Active, n.Oldest
	w.Count[i], w.Rate[i], w.Mean[i], w.Min[i], w.Max[i] = n.Window.Count, n.Window.Rate, n.Window.Mean, n.Window.Min, n.Window.Max
	w.Median[i], w.P80[i], w.P95[i], w.P99[i] = n.Window.Median, n.Window.P80, n.Window.P95, n.Window.P99
}
