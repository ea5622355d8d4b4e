package pcp

import "testing"

func TestPMID(t *testing.T) {
	for _, c := range []struct {
		domain, cluster, item int
		packed                PMID
		text                  string
	}{
		{253, 0, 1, 0x3f400001, "253.0.1"}, // the fact sheet's
		{29, 0, 31, 0x0740001f, "29.0.31"},
		{29, 0, 1000, 0x074003e8, "29.0.1000"},
		{511, 400, 0, 0x7fc64000, "511.400.0"},
		{0, 0, 0, 0, "0.0.0"},
		{511, 4095, 1023, 0x7fffffff, "511.4095.1023"},
		{1, 1, 1, 1<<22 | 1<<10 | 1, "1.1.1"},
	} {
		p := MakePMID(c.domain, c.cluster, c.item)
		if p != c.packed {
			t.Errorf("MakePMID(%d, %d, %d) = %#x, want %#x", c.domain, c.cluster, c.item, uint32(p), uint32(c.packed))
		}
		if p.Domain() != c.domain || p.Cluster() != c.cluster || p.Item() != c.item {
			t.Errorf("%#x comes apart as %d.%d.%d, want %s", uint32(p), p.Domain(), p.Cluster(), p.Item(), c.text)
		}
		if p.String() != c.text {
			t.Errorf("%#x prints %s, want %s", uint32(p), p, c.text)
		}
		if back, err := ParsePMID(c.text); err != nil || back != p {
			t.Errorf("ParsePMID(%q) = %v, %v, want %v", c.text, back, err, p)
		}
	}
	if s := PMIDNull.String(); s != "PM_ID_NULL" {
		t.Errorf("PMIDNull prints %s", s)
	}
}

func TestMakeCutsExcessBits(t *testing.T) {
	if p := MakePMID(512+1, 4096+2, 1024+3); p != MakePMID(1, 2, 3) {
		t.Errorf("MakePMID lets a field run into the next: %v", p)
	}
	if p := MakePMID(-1, -1, -1); p != 0x7fffffff {
		t.Errorf("MakePMID(-1, -1, -1) = %#x, want the flag bit 0", uint32(p))
	}
	if d := MakeInDom(512+1, 1<<22+5); d != MakeInDom(1, 5) {
		t.Errorf("MakeInDom lets a field run into the next: %v", d)
	}
}

func TestParsePMIDRefuses(t *testing.T) {
	for _, s := range []string{
		"", ".", "..", "1", "1.2", "1.2.3.4", "a.b.c", "1.2.", ".2.3", "1..3",
		"512.0.0", "0.4096.0", "0.0.1024", "-1.0.0", "0.-1.0", "0.0.-1", "+1.0.0",
		" 1.2.3", "1.2.3 ", "1.2.3\n", "0x1.2.3", "99999999999999999999.0.0", "1_0.2.3", "PM_ID_NULL",
	} {
		if p, err := ParsePMID(s); err == nil || p != PMIDNull {
			t.Errorf("ParsePMID(%q) = %v, %v, want PMIDNull and an error", s, p, err)
		}
	}
}

func TestInDom(t *testing.T) {
	for _, c := range []struct {
		domain, serial int
		packed         InDom
		text           string
	}{
		{253, 0, 0x3f400000, "253.0"},
		{29, 2, 0x07400002, "29.2"},
		{511, MaxSerial, 0x7fffffff, "511.4194303"},
		{0, 0, 0, "0.0"},
	} {
		d := MakeInDom(c.domain, c.serial)
		if d != c.packed || d.Domain() != c.domain || d.Serial() != c.serial || d.String() != c.text {
			t.Errorf("MakeInDom(%d, %d) = %#x, %d, %d, %v, want %#x", c.domain, c.serial, uint32(d),
				d.Domain(), d.Serial(), d, uint32(c.packed))
		}
	}
	if s := InDomNull.String(); s != "PM_INDOM_NULL" {
		t.Errorf("InDomNull prints %s", s)
	}
}

func TestTypeAndSem(t *testing.T) {
	for typ, want := range map[Type]struct {
		text  string
		valid bool
	}{
		-1: {"NO_SUPPORT", false}, 0: {"32", true}, 1: {"U32", true}, 2: {"64", true}, 3: {"U64", true},
		4: {"FLOAT", true}, 5: {"DOUBLE", true}, 6: {"STRING", true}, 7: {"AGGREGATE", true},
		8: {"AGGREGATE_STATIC", true}, 9: {"EVENT", true}, 10: {"HIGHRES_EVENT", true},
		11: {"Type(11)", false}, 255: {"UNKNOWN", false}, -2: {"Type(-2)", false},
	} {
		if typ.String() != want.text || typ.Valid() != want.valid {
			t.Errorf("type %d: %v, valid %v, want %v, %v", int32(typ), typ, typ.Valid(), want.text, want.valid)
		}
	}
	for sem, want := range map[Sem]struct {
		text  string
		valid bool
	}{
		1: {"counter", true}, 3: {"instant", true}, 4: {"discrete", true},
		0: {"Sem(0)", false}, 2: {"Sem(2)", false}, 5: {"Sem(5)", false}, -1: {"Sem(-1)", false},
	} {
		if sem.String() != want.text || sem.Valid() != want.valid {
			t.Errorf("semantics %d: %v, valid %v, want %v, %v", int32(sem), sem, sem.Valid(), want.text, want.valid)
		}
	}
}
