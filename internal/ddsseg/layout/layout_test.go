package layout

import (
	"fmt"
	"hash/fnv"
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
	{"header -", 0, HeaderLen}, {"header magic", HdrMagic, 8}, {"header order", HdrOrder, 4},
	{"header major", HdrMajor, 2}, {"header minor", HdrMinor, 2}, {"header header_len", HdrHeaderLen, 4},
	{"header word", HdrWord, 4}, {"header size", HdrSize, 8}, {"header state", HdrState, 4},
	{"header pid", HdrPID, 4}, {"header pidns", HdrPIDNS, 8}, {"header start", HdrStart, 8},
	{"header uid", HdrUID, 4}, {"header changes", HdrChanges, 4},
	{"header stats_off", HdrStatsOff, 8}, {"header stats_count", HdrStatsCount, 4}, {"header stat_len", HdrStatLen, 4},
	{"header contexts_off", HdrContextsOff, 8}, {"header contexts_count", HdrContextsCount, 4}, {"header context_len", HdrContextLen, 4},
	{"header slots_count", HdrSlotsCount, 4}, {"header slot_len", HdrSlotLen, 4}, {"header slot_block", HdrSlotBlock, 8 * SlotBlocks},
	{"header time_off", HdrTimeOff, 4}, {"header time_word", HdrTimeWord, 4},
	{"header timeout", HdrTimeOut, 4}, {"header language", HdrLanguage, 4}, {"header name", HdrName, PathLen}, {"header recent", HdrRecent, 4 * RecentCount},
	{"header updates", HdrUpdates, 4},

	{"stat -", 0, StatLen}, {"stat name", StatName, NameLen}, {"stat descr", StatDescr, DescrLen},
	{"stat min", StatMin, 8}, {"stat max", StatMax, 8}, {"stat value_type", StatValueType, 4},
	{"stat data_type", StatDataType, 4}, {"stat type", StatType, 4}, {"stat offset", StatOffset, 4},
	{"stat size", StatSize, 4}, {"stat asn", StatASN, 4}, {"stat units", StatUnits, 4}, {"stat flags", StatFlags, 4},
	{"stat help_off", StatHelpOff, 8}, {"stat help_len", StatHelpLen, 4},
	{"stat labels_len", StatLabelsLen, 4}, {"stat labels_off", StatLabelsOff, 8},

	{"context -", 0, ContextLen}, {"context path", CtxPath, PathLen}, {"context descr", CtxDescr, DescrLen},
	{"context asn", CtxASN, 4}, {"context kind", CtxKind, 4}, {"context first_stat", CtxFirstStat, 4},
	{"context stat_count", CtxStatCount, 4}, {"context data_off", CtxDataOff, 8}, {"context data_len", CtxDataLen, 4},
	{"context update", CtxUpdate, 4}, {"context help_off", CtxHelpOff, 8}, {"context help_len", CtxHelpLen, 4},
	{"context labels_len", CtxLabelsLen, 4}, {"context labels_off", CtxLabelsOff, 8},

	{"notice -", 0, 12}, {"notice goaway", NoticeGoAway, 4}, {"notice interval", NoticeInterval, 4}, {"notice subscrib", NoticeSubscrib, 4},

	{"slot -", 0, SlotLen}, {"slot path", CtxPath, PathLen}, {"slot descr", CtxDescr, DescrLen},
	{"slot asn", CtxASN, 4}, {"slot seq", SlotSeq, 4}, {"slot template", SlotTemplate, 4}, {"slot active", SlotActive, 4},
	{"slot data_off", CtxDataOff, 8}, {"slot data_len", CtxDataLen, 4}, {"slot update", CtxUpdate, 4},
	{"slot help_off", CtxHelpOff, 8}, {"slot help_len", CtxHelpLen, 4},
	{"slot labels_len", CtxLabelsLen, 4}, {"slot labels_off", CtxLabelsOff, 8},
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

// TestNoOverlap: no field reaches into the next, and words lie where they are atomic.
func TestNoOverlap(t *testing.T) {
	end, whole := 0, 0
	for _, f := range inGo {
		if strings.HasSuffix(f.name, " -") {
			end, whole = 0, f.size
			continue
		}
		if f.off < end || f.off+f.size > whole {
			t.Errorf("%s at %d: the one before ends at %d, the whole at %d", f.name, f.off, end, whole)
		}
		if align := min(f.size, 8); f.size <= 8 && f.off%align != 0 {
			t.Errorf("%s at %d is not aligned", f.name, f.off)
		}
		end = f.off + f.size
	}
	if ContextLen%64 != 0 || SlotLen%64 != 0 || StatLen%64 != 0 || HeaderLen%64 != 0 {
		t.Error("a structure's length is no multiple of a cache line")
	}
}

func TestSlotPlace(t *testing.T) {
	for _, c := range []struct {
		n     uint32
		block int
		index uint32
	}{{0, 0, 0}, {63, 0, 63}, {64, 1, 0}, {191, 1, 127}, {192, 2, 0}, {100000, 10, 100000 - 64*1023}} {
		if b, i := SlotPlace(c.n); b != c.block || i != c.index {
			t.Errorf("slot %d: block %d, index %d; want %d, %d", c.n, b, i, c.block, c.index)
		}
	}
}

func TestClaimOffset(t *testing.T) {
	for _, path := range []string{"", "DDS", "DDS/IBM/Test", "DDS/IBM/Moretest/SubTest", "\xff\x00"} {
		h := fnv.New64a()
		h.Write([]byte(path))
		if got, want := ClaimOffset(path), int64(h.Sum64()<<2>>2); got != want {
			t.Errorf("%q: %#x, want %#x", path, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	long := strings.Repeat("x", 31)
	for path, want := range map[string]bool{
		"DDS": true, "DDS/IBM": true, "DDS/IBM/Test": true, "DDS/IBM/%free of it": true, "DDS/ü/." + long[1:]: true,
		"": false, "/DDS": false, "DDS/": false, "DDS//x": false, "dds/IBM": false, "Mem/Real": false, "DDSX/IBM": false,
		"DDS/ x": false, "DDS/x ": false, "DDS/a\tb": false, "DDS/a\x7f": false, "DDS/a\x00": false,
		"DDS/" + long: true, "DDS/" + long + "x": false,
		"DDS/" + long + "/" + long[:27]: true, "DDS/" + long + "/" + long[:28]: false,
	} {
		if got := ValidPath(path); got != want {
			t.Errorf("ValidPath(%q, %d bytes) = %v", path, len(path), got)
		}
	}
	if Parent("DDS/IBM/Test") != "DDS/IBM" || Parent("DDS") != "" {
		t.Error("Parent")
	}
	if !Shared("DDS") || !Shared("DDS/IBM") || Shared("DDS/IBM/Test") {
		t.Error("Shared")
	}
}
