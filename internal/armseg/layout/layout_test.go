package layout

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// inGo gives every constant of the layout with the size that its comment states.
var inGo = []struct {
	name      string
	off, size int
}{
	{"names -", 0, NamesLen}, {"names magic", NamesMagic, 8}, {"names order", NamesOrder, 4}, {"names major", NamesMajor, 2},
	{"names minor", NamesMinor, 2}, {"names header_len", NamesHeaderLen, 4}, {"names app_len", NamesAppLen, 4},
	{"names tran_len", NamesTranLen, 4}, {"names state", NamesState, 4}, {"names nonce", NamesNonce, 8}, {"names uid", NamesUID, 4},
	{"names app_max", NamesAppMax, 4}, {"names tran_max", NamesTranMax, 4}, {"names app_next", NamesAppNext, 4},
	{"names tran_next", NamesTranNext, 4}, {"names app_hash_len", NamesAppHashLen, 4}, {"names tran_hash_len", NamesTranHashLen, 4},
	{"names addr_format", NamesAddrFormat, 2}, {"names addr_len", NamesAddrLen, 2}, {"names address", NamesAddress, 24},
	{"names app_hash_off", NamesAppHashOff, 8}, {"names tran_hash_off", NamesTranHashOff, 8}, {"names apps_off", NamesAppsOff, 8},
	{"names trans_off", NamesTransOff, 8}, {"names size", NamesSize, 8}, {"names language", NamesLanguage, 4},

	{"app -", 0, AppLen}, {"app next", AppNext, 4}, {"app state", AppState, 4}, {"app use", AppUse, 8}, {"app key", AppKey, 32},
	{"app descr", AppDescr, 64}, {"app user", AppUser, 128},

	{"tran -", 0, TranLen}, {"tran next", TranNext, 4}, {"tran state", TranState, 4}, {"tran app", TranApp, 4},
	{"tran epoch", TranEpoch, 4}, {"tran meta", TranMeta, 4}, {"tran meta_flags", TranMetaFlags, 4}, {"tran key", TranKey, 32},
	{"tran descr", TranDescr, 64}, {"tran detail", TranDetail, 128}, {"tran descs", TranDescs, 336},

	{"switches -", 0, SwitchesLen}, {"switches magic", SwitchesMagic, 8}, {"switches order", SwitchesOrder, 4},
	{"switches major", SwitchesMajor, 2}, {"switches minor", SwitchesMinor, 2}, {"switches nonce", SwitchesNonce, 8},
	{"switches trace", SwitchesTrace, 8192},

	{"desc -", 0, DescLen}, {"desc type", DescType, 4}, {"desc name", DescName, 44},

	{"proc -", 0, ProcLen}, {"proc magic", ProcMagic, 8}, {"proc order", ProcOrder, 4}, {"proc major", ProcMajor, 2},
	{"proc minor", ProcMinor, 2}, {"proc header_len", ProcHeaderLen, 4}, {"proc block_len", ProcBlockLen, 4},
	{"proc chunk_len", ProcChunkLen, 4}, {"proc cell_len", ProcCellLen, 4}, {"proc state", ProcState, 4}, {"proc pid", ProcPID, 4},
	{"proc pidns", ProcPIDNS, 8}, {"proc start", ProcStart, 8}, {"proc uid", ProcUID, 4}, {"proc language", ProcLanguage, 4},
	{"proc nonce", ProcNonce, 8}, {"proc bump", ProcBump, 8}, {"proc backed", ProcBacked, 8}, {"proc inits_off", ProcInitsOff, 8},
	{"proc app_max", ProcAppMax, 4}, {"proc chunk_max", ProcChunkMax, 4}, {"proc chunks_off", ProcChunksOff, 8},
	{"proc chunk_next", ProcChunkNext, 4}, {"proc block_max", ProcBlockMax, 4}, {"proc blocks_off", ProcBlocksOff, 8},
	{"proc block_next", ProcBlockNext, 4}, {"proc trace_off", ProcTraceOff, 8}, {"proc trace_len", ProcTraceLen, 4},
	{"proc event_len", ProcEventLen, 4}, {"proc trace_next", ProcTraceNext, 8}, {"proc pairs_off", ProcPairsOff, 8},
	{"proc pairs_len", ProcPairsLen, 4}, {"proc pair_len", ProcPairLen, 4}, {"proc no_room", ProcNoRoom, 8},
	{"proc bad_handles", ProcBadHandles, 8}, {"proc bad_data", ProcBadData, 8}, {"proc pairs_lost", ProcPairsLost, 8},
	{"proc name", ProcName, 64},

	{"block -", 0, BlockLen}, {"block owner", BlockOwner, 4}, {"block flags", BlockFlags, 4}, {"block ops", BlockOps, 8},
	{"block tid", BlockTID, 4}, {"block dir", BlockDir, 1024},

	{"chunk -", 0, ChunkLen}, {"chunk block", ChunkBlock, 4}, {"chunk ext_off", ChunkExtOff, 8}, {"chunk slots", ChunkSlots, 4096},

	{"slot -", 0, SlotLen}, {"slot state", SlotState, 8}, {"slot start", SlotStart, 8}, {"slot pair", SlotPair, 4},
	{"slot flags", SlotFlags, 4}, {"slot update", SlotUpdate, 8},

	{"ext -", 0, ExtLen}, {"ext flags", ExtFlags, 4}, {"ext prev", ExtPrev, 48},

	{"cell -", 0, CellLen}, {"cell tran", CellTran, 4}, {"cell flags", CellFlags, 4}, {"cell n", CellN, 8}, {"cell sum", CellSum, 8},
	{"cell min", CellMin, 8}, {"cell max", CellMax, 8}, {"cell aborted", CellAborted, 8}, {"cell aborted_ns", CellAbortedNS, 8},
	{"cell failed", CellFailed, 8}, {"cell failed_ns", CellFailedNS, 8}, {"cell updates", CellUpdates, 8},
	{"cell bad_data", CellBadData, 8}, {"cell metrics_off", CellMetricsOff, 8}, {"cell ring", CellRing, 128},
	{"cell hist", CellHist, 2048},

	{"metric -", 0, MetricLen}, {"metric seq", MetricSeq, 4}, {"metric type", MetricType, 4}, {"metric count", MetricCount, 8},
	{"metric sum", MetricSum, 8}, {"metric last", MetricLast, 8}, {"metric min", MetricMin, 8}, {"metric max", MetricMax, 8},
	{"metric text", MetricText, 32},

	{"pair -", 0, PairLen}, {"pair state", PairState, 4}, {"pair tran", PairTran, 4}, {"pair hash", PairHash, 8},
	{"pair count", PairCount, 8}, {"pair sum", PairSum, 8}, {"pair aborted", PairAborted, 8}, {"pair failed", PairFailed, 8},
	{"pair vendor", PairVendor, 2}, {"pair version", PairVersion, 2}, {"pair instance", PairInstance, 2},
	{"pair addr_format", PairAddrFormat, 2}, {"pair class", PairClass, 4}, {"pair addr_len", PairAddrLen, 2},
	{"pair address", PairAddress, 24},

	{"event -", 0, EventLen}, {"event seq", EventSeq, 8}, {"event time", EventTime, 8}, {"event kind", EventKind, 4},
	{"event tran", EventTran, 4}, {"event handle", EventHandle, 4}, {"event status", EventStatus, 4}, {"event flags", EventFlags, 4},
	{"event text_len", EventTextLen, 4}, {"event duration", EventDuration, 8}, {"event metrics", EventMetrics, 48},
	{"event string", EventString, 32}, {"event parent", EventParent, 168}, {"event own", EventOwn, 168},
	{"event text", EventText, 1020},
}

func TestLayout(t *testing.T) {
	text, err := os.ReadFile("layout.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, f := range inGo {
		got = append(got, fmt.Sprintf("%s %d %d", f.name, f.off, f.size))
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("layout.go:\n%s\nlayout.txt:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNoOverlap: no field reaches into the next, and words are aligned so that access to
// them is atomic. A metric's text takes the place of its numbers.
func TestNoOverlap(t *testing.T) {
	end, whole := 0, 0
	for _, f := range inGo {
		if strings.HasSuffix(f.name, " -") {
			end, whole = 0, f.size
			continue
		}
		if f.name == "metric text" {
			end = MetricSum
		}
		if f.off < end || f.off+f.size > whole {
			t.Errorf("%s at %d: the one before ends at %d, the whole at %d", f.name, f.off, end, whole)
		}
		if align := min(f.size, 8); f.size <= 8 && f.off%align != 0 {
			t.Errorf("%s at %d is not aligned", f.name, f.off)
		}
		end = f.off + f.size
	}
	for _, n := range []int{NamesLen, ProcLen, BlockLen, ChunkLen, SlotLen, ExtLen, CellLen, MetricLen, PairLen, EventLen} {
		if n%64 != 0 {
			t.Errorf("%d is no multiple of a cache line", n)
		}
	}
	if AppLen%8 != 0 || TranLen%8 != 0 {
		t.Error("a record of names is not aligned to 8 bytes")
	}
}
