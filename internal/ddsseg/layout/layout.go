// Package layout says where everything lies in the shared memory in which a dynamic data
// supplier keeps its contexts and statistics. Package writer writes it, for programs, and
// package reader reads it, for the agent. libSpmi writes the same layout in C; tests compare
// both with layout.txt.
//
// A supplier has one file in the segment directory. In the machine's byte order, it holds: a
// header, tables of statistics and of contexts that do not change once the file is
// published, data areas, and slots for contexts that come and go. The file grows and never
// shrinks. A reader must trust nothing in it, because a stranger wrote it.
package layout

// Directory and file names. A supplier fills a file under the first pattern and then
// renames it to the second: "UID-PID-RANDOM" and the suffix.
const (
	DefaultDir = "/run/rtime/dds"
	DirEnv     = "RTIME_DDS_DIR" // overrides DefaultDir
	NewPrefix  = ".new-"
	Suffix     = ".dds"
	ClaimsDir  = "claims" // below the segment directory; a file per user, named by uid
	NoticeDir  = ".agent" // belongs to the agent; a file per segment, of the same name

	DirMode     = 0o3773
	ClaimsMode  = 0o1777
	FileMode    = 0o640 // only its owner may write it; the agent's group may read it
	ClaimMode   = 0o644
	NoticeMode  = 0o755 // of the folder
	NoticeFile  = 0o644
	MapSize64   = 1 << 30 // address space that a 64-bit writer reserves
	MapSize32   = 64 << 20
	AliveOffset = 0 // a write lock on this byte, held as long as the supplier lives
)

// The beginning of the header.
const (
	Magic = "RTDDSEG1"
	Order = 0x01020304
	Major = 1
	Minor = 2
)

// States of a segment.
const (
	StateBuilding = 0
	StateReady    = 1
	StateEnded    = 2
)

// Languages of writers.
const (
	LanguageC  = 1
	LanguageGo = 2
)

// Lengths of the structures, and limits on their fields. The text fields count the NUL
// that ends them.
const (
	HeaderLen  = 512
	StatLen    = 256
	ContextLen = 320
	SlotLen    = 320

	NameLen  = 32 // name of a statistic, and of each element of a path
	PathLen  = 64
	DescrLen = 64

	SlotBlocks     = 20
	SlotBlockFirst = 64 // block k holds SlotBlockFirst<<k slots
)

// Offsets in the header. Words marked atomic change after publication.
const (
	HdrMagic         = 0  // [8]byte
	HdrOrder         = 8  // u32
	HdrMajor         = 12 // u16
	HdrMinor         = 14 // u16
	HdrHeaderLen     = 16 // u32
	HdrWord          = 20 // u32, size of a pointer at the supplier
	HdrSize          = 24 // u64 atomic, bytes in use
	HdrState         = 32 // u32 atomic
	HdrPID           = 36 // u32, in the supplier's namespace
	HdrPIDNS         = 40 // u64, inode of that namespace
	HdrStart         = 48 // u64, field 22 of /proc/self/stat
	HdrUID           = 56 // u32
	HdrChanges       = 60 // u32 atomic, incremented after every change of slots
	HdrStatsOff      = 64 // u64
	HdrStatsCount    = 72 // u32
	HdrStatLen       = 76 // u32
	HdrContextsOff   = 80 // u64
	HdrContextsCount = 88 // u32
	HdrContextLen    = 92 // u32
	HdrSlotsCount    = 96 // u32 atomic, the highest slot ever used plus one
	HdrSlotLen       = 100
	HdrSlotBlock     = 104 // [SlotBlocks]u64 atomic, 0 until the block exists
	HdrTimeOff       = 264 // u32
	HdrTimeWord      = 268 // u32, 4 or 8: width of seconds and of microseconds
	HdrTimeOut       = 272 // u32, seconds as for SpmiInit; 0 none given, TimeOutNever; since minor version 2
	HdrLanguage      = 292 // u32
	HdrName          = 296 // [64]byte

	// The list of the latest changes of slots. Change number n (counted from 0, modulo 2^32)
	// is at index n modulo RecentCount, as the number of the slot plus 1. A supplier writes
	// it before it counts the change. If a supplier does not keep the list, all of it is 0.
	HdrRecent   = 360 // [RecentCount]u32 atomic
	RecentCount = 32

	HdrUpdates = 488 // u32 atomic, 1 before the first update; since minor version 1
)

// TimeOutNever in HdrTimeOut asks that no supplier counts as dead because of its time stamp.
const TimeOutNever = 1<<32 - 1

// The smallest and the largest other value of HdrTimeOut, in seconds.
const (
	TimeOutLeast = 15
	TimeOutMost  = 600
)

// A notice is a file in which the agent tells a supplier something: the agent can only read
// the supplier's own file. It is one page of 4096 bytes with three words. A supplier takes
// no offset, size or index from it.
const (
	NoticeLen      = 4096
	NoticeGoAway   = 0 // u32, when the supplier was told to go away, in seconds since 1970; 0: it was not
	NoticeInterval = 4 // u32, shortest interval in milliseconds at which a client asks; 0: unknown
	NoticeSubscrib = 8 // u32, number of values that clients ask for
)

// Offsets in a statistic's record.
const (
	StatName      = 0   // [32]byte
	StatDescr     = 32  // [64]byte
	StatMin       = 96  // i64
	StatMax       = 104 // i64
	StatValueType = 112 // u32
	StatDataType  = 116 // u32, as presented
	StatType      = 120 // u32, as stored
	StatOffset    = 124 // u32, in the context's data area
	StatSize      = 128 // u32, bytes stored
	StatASN       = 132 // u32
	StatUnits     = 136 // u32, PCP's units word
	StatFlags     = 140 // u32, 0
	StatHelpOff   = 144 // u64, 0 for none; so are the next three
	StatHelpLen   = 152 // u32
	StatLabelsLen = 156 // u32, a JSON object
	StatLabelsOff = 160 // u64
)

// Offsets in the record of a context. Those of a slot are the same, except for three.
const (
	CtxPath      = 0   // [64]byte
	CtxDescr     = 64  // [64]byte
	CtxASN       = 128 // u32
	CtxKind      = 132 // u32
	CtxFirstStat = 136 // u32, index of a record
	CtxStatCount = 140 // u32
	CtxDataOff   = 144 // u64, 0 for templates
	CtxDataLen   = 152 // u32
	CtxUpdate    = 156 // u32 atomic, odd while several values change together
	CtxHelpOff   = 160 // u64
	CtxHelpLen   = 168 // u32
	CtxLabelsLen = 172 // u32
	CtxLabelsOff = 176 // u64

	SlotSeq      = 132 // u32 atomic, odd while the slot changes; increases by two for each use
	SlotTemplate = 136 // u32, index of the context record
	SlotActive   = 140 // u32 atomic, 1 or 0
)

// Kinds of contexts.
const (
	KindFixed    = 0
	KindTemplate = 1 // of volatile contexts
)

// Value types of a statistic.
const (
	Counter  = 0 // is only incremented
	Quantity = 1 // a level
)

// Data types of a statistic, as the SPMI numbers them.
const (
	ULong   = 0
	Long    = 1
	UInt    = 2
	Int     = 3
	UShort  = 4
	Short   = 5
	Char    = 6
	Addr    = 7
	Timeval = 8
	Float   = 9
	Double  = 10
	Ptr     = 11
	Unsign  = 12

	DataTypes = 13
)

// SlotPlace returns the block that holds slot n, and the index of the slot in the block.
func SlotPlace(n uint32) (block int, index uint32) {
	for n >= SlotBlockFirst<<block {
		n -= SlotBlockFirst << block
		block++
	}
	return block, n
}
