// Package layout describes the files in which programs leave what the ARM libraries
// measure: their names, offsets and lengths, and the encodings that writer and reader
// share. Package writer writes these files, and package reader reads them. libarm writes
// the same layout in C. Tests compare both with layout.txt; docs/arm-segment.md says what
// the fields mean.
//
// A user has one file of names, which all the user's processes share, and every process
// has a file of its own with what it has counted.
package layout

import "fmt"

// Directory and file names. A file is filled under a name that begins with NewPrefix, and
// then renamed. A file of names is called UID followed by NamesSuffix, a process's file
// UID-PID-RANDOM followed by ProcSuffix. A file of names that the agent is about to remove is
// called AsidePrefix, UID, "-" and nonce.
const (
	DefaultDir  = "/run/rtime/arm"
	DirEnv      = "RTIME_ARM_DIR" // overrides DefaultDir
	NewPrefix   = ".new-"
	NamesSuffix = ".names"
	ProcSuffix  = ".arm"
	AsidePrefix = ".aside-"
	PastDir     = "past"   // below the directory: for the agent alone
	SwitchesDir = ".agent" // and what the agent tells programs: UID-NONCE, 16 digits

	DirMode         = 0o3773
	FileMode        = 0o640 // only the owner writes; the agent, by its group, reads
	PastMode        = 0o700
	SwitchesDirMode = 0o755
	SwitchesMode    = 0o644

	AliveOffset = 0 // a process holds a write lock on this byte of its file as long as it lives
)

// AsidePath is the other name of a file of names. The agent gives it to a file before it
// removes the file. A process gives it to a file of its own if the usual name is taken.
func AsidePath(uid uint32, nonce uint64) string {
	return fmt.Sprintf("%s%d-%016x", AsidePrefix, uid, nonce)
}

// What the headers begin with.
const (
	MagicNames    = "RTARMNM2"
	MagicProc     = "RTARMPR2"
	MagicSwitches = "RTARMSW2"
	ByteOrder     = 0x01020304
	Major         = 2
	Minor         = 0
)

// States of a file.
const (
	StateBuilding = 0
	StateReady    = 1
)

// States of a record of an application, a transaction or a pair.
const (
	RecordEmpty     = 0
	RecordPublished = 1
	RecordDead      = 2 // another has the key
	RecordBuilding  = 3
)

// Languages of writers.
const (
	LanguageC  = 1
	LanguageGo = 2
)

// How many there may be of each, and how long texts may be.
const (
	AppMax        = 1024  // applications of a user
	TranMax       = 65536 // transactions of a user
	AppHashLen    = 1024  // heads of chains
	TranHashLen   = 8192
	BlockMax      = 1024 // blocks of a process
	ChunkMax      = 2048 // chunks of a process
	SlotsPerChunk = 64
	DirPages      = 256 // pages of a block's directory, each with PageCells cells
	PageCells     = 256
	RingLen       = 16
	HistLen       = 256
	Metrics       = 6 // metrics of a transaction, besides one string
	PairsLen      = 512
	TraceLen      = 128
	KeyMax        = 31 // bytes of a name with its blanks removed
	DescrMax      = 63
	NameMax       = 127
	CorrelatorMax = 168
	TextMax       = 1020
)

// Owners of blocks.
const (
	BlockFree      = 0
	BlockExclusive = 1 // one thread writes; plain additions will do
	BlockShared    = 2 // any thread writes; additions are atomic
)

// States of slots, in the lowest three bits of the state word. The next 14 bits are a
// generation, and the upper 32 bits are the transaction.
const (
	SlotFree     = 0
	SlotClaimed  = 1
	SlotActive   = 2
	SlotStopping = 3
)

// Flags of slots.
const (
	SlotTraced  = 1
	SlotMetrics = 2
)

// Kinds of events.
const (
	EventKindStart  = 1
	EventKindUpdate = 2
	EventKindStop   = 3
)

// Lengths of the structures.
const (
	NamesLen  = 512
	AppLen    = 256
	TranLen   = 640
	DescLen   = 48
	ProcLen   = 512
	BlockLen  = 1088
	ChunkLen  = 4160
	SlotLen   = 64
	ExtLen    = 64
	CellLen   = 2304
	MetricLen = 64
	PairLen   = 128
	EventLen  = 1536

	SwitchesLen = 8256
)

// Offsets in the header of a user's file of names.
const (
	NamesMagic       = 0   // u64
	NamesOrder       = 8   // u32
	NamesMajor       = 12  // u16
	NamesMinor       = 14  // u16
	NamesHeaderLen   = 16  // u32
	NamesAppLen      = 20  // u32
	NamesTranLen     = 24  // u32
	NamesState       = 28  // u32
	NamesNonce       = 32  // u64
	NamesUID         = 40  // u32
	NamesAppMax      = 44  // u32
	NamesTranMax     = 48  // u32
	NamesAppNext     = 52  // u32
	NamesTranNext    = 56  // u32
	NamesAppHashLen  = 60  // u32
	NamesTranHashLen = 64  // u32
	NamesAddrFormat  = 68  // u16
	NamesAddrLen     = 70  // u16
	NamesAddress     = 72  // [24]byte
	NamesAppHashOff  = 96  // u64
	NamesTranHashOff = 104 // u64
	NamesAppsOff     = 112 // u64
	NamesTransOff    = 120 // u64
	NamesSize        = 128 // u64
	NamesLanguage    = 136 // u32
)

// Offsets in an application.
const (
	AppNext  = 0   // u32
	AppState = 4   // u32
	AppUse   = 8   // u64
	AppKey   = 16  // [32]byte
	AppDescr = 48  // [64]byte
	AppUser  = 112 // [128]byte
)

// Offsets in a transaction.
const (
	TranNext      = 0   // u32
	TranState     = 4   // u32
	TranApp       = 8   // u32
	TranEpoch     = 12  // u32
	TranMeta      = 16  // u32
	TranMetaFlags = 20  // u32
	TranKey       = 24  // [32]byte
	TranDescr     = 56  // [64]byte
	TranDetail    = 120 // [128]byte
	TranDescs     = 248 // [336]byte
)

// Offsets in a file of trace switches, which belongs to the file of names with its nonce.
// Transaction id is traced if bit (id-1)%32 of word (id-1)/32 is set.
const (
	SwitchesMagic = 0  // u64
	SwitchesOrder = 8  // u32
	SwitchesMajor = 12 // u16
	SwitchesMinor = 14 // u16
	SwitchesNonce = 16 // u64
	SwitchesTrace = 64 // [8192]byte
)

// Offsets in the description of a metric.
const (
	DescType = 0 // u32
	DescName = 4 // [44]byte
)

// Offsets in the header of a process's file.
const (
	ProcMagic      = 0   // u64
	ProcOrder      = 8   // u32
	ProcMajor      = 12  // u16
	ProcMinor      = 14  // u16
	ProcHeaderLen  = 16  // u32
	ProcBlockLen   = 20  // u32
	ProcChunkLen   = 24  // u32
	ProcCellLen    = 28  // u32
	ProcState      = 32  // u32
	ProcPID        = 36  // u32
	ProcPIDNS      = 40  // u64
	ProcStart      = 48  // u64
	ProcUID        = 56  // u32
	ProcLanguage   = 60  // u32
	ProcNonce      = 64  // u64
	ProcBump       = 72  // u64
	ProcBacked     = 80  // u64
	ProcInitsOff   = 88  // u64
	ProcAppMax     = 96  // u32
	ProcChunkMax   = 100 // u32
	ProcChunksOff  = 104 // u64
	ProcChunkNext  = 112 // u32
	ProcBlockMax   = 116 // u32
	ProcBlocksOff  = 120 // u64
	ProcBlockNext  = 128 // u32
	ProcTraceOff   = 136 // u64
	ProcTraceLen   = 144 // u32
	ProcEventLen   = 148 // u32
	ProcTraceNext  = 152 // u64
	ProcPairsOff   = 160 // u64
	ProcPairsLen   = 168 // u32
	ProcPairLen    = 172 // u32
	ProcNoRoom     = 176 // u64
	ProcBadHandles = 184 // u64
	ProcBadData    = 192 // u64
	ProcPairsLost  = 200 // u64
	ProcName       = 208 // [64]byte
)

// Offsets in a block: what one thread, or several, count in.
const (
	BlockOwner = 0  // u32
	BlockFlags = 4  // u32
	BlockOps   = 8  // u64
	BlockTID   = 16 // u32
	BlockDir   = 64 // [1024]byte
)

// Offsets in a chunk of slots.
const (
	ChunkBlock  = 0  // u32
	ChunkExtOff = 8  // u64
	ChunkSlots  = 64 // [4096]byte
)

// Offsets in a slot: a transaction that is running.
const (
	SlotState  = 0  // u64
	SlotStart  = 8  // u64
	SlotPair   = 16 // u32
	SlotFlags  = 20 // u32
	SlotUpdate = 24 // u64
)

// Offsets in the last values of a running transaction's counters.
const (
	ExtFlags = 0 // u32
	ExtPrev  = 8 // [48]byte
)

// Offsets in a cell: what a block knows of a transaction.
const (
	CellTran       = 0   // u32
	CellFlags      = 4   // u32
	CellN          = 8   // u64
	CellSum        = 16  // u64
	CellMin        = 24  // u64
	CellMax        = 32  // u64
	CellAborted    = 40  // u64
	CellAbortedNS  = 48  // u64
	CellFailed     = 56  // u64
	CellFailedNS   = 64  // u64
	CellUpdates    = 72  // u64
	CellBadData    = 80  // u64
	CellMetricsOff = 88  // u64
	CellRing       = 128 // [128]byte
	CellHist       = 256 // [2048]byte
)

// Offsets in an application's metric in a cell.
const (
	MetricSeq   = 0  // u32
	MetricType  = 4  // u32
	MetricCount = 8  // u64
	MetricSum   = 16 // u64
	MetricLast  = 24 // u64
	MetricMin   = 32 // u64
	MetricMax   = 40 // u64
	MetricText  = 16 // [32]byte
)

// Offsets in a pair of parent and child.
const (
	PairState      = 0  // u32
	PairTran       = 4  // u32
	PairHash       = 8  // u64
	PairCount      = 16 // u64
	PairSum        = 24 // u64
	PairAborted    = 32 // u64
	PairFailed     = 40 // u64
	PairVendor     = 48 // u16
	PairVersion    = 50 // u16
	PairInstance   = 52 // u16
	PairAddrFormat = 54 // u16
	PairClass      = 56 // u32
	PairAddrLen    = 60 // u16
	PairAddress    = 64 // [24]byte
)

// Offsets in an event of a traced transaction.
const (
	EventSeq      = 0   // u64
	EventTime     = 8   // u64
	EventKind     = 16  // u32
	EventTran     = 20  // u32
	EventHandle   = 24  // u32
	EventStatus   = 28  // u32
	EventFlags    = 32  // u32
	EventTextLen  = 36  // u32
	EventDuration = 40  // u64
	EventMetrics  = 48  // [48]byte
	EventString   = 96  // [32]byte
	EventParent   = 128 // [168]byte
	EventOwn      = 296 // [168]byte
	EventText     = 464 // [1020]byte
)
