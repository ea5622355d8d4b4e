package layout

// Types of metrics in data buffers (ARM 2.0 guide, "Data Type Definitions").
const (
	TypeCounter32   = 1
	TypeCounter64   = 2
	TypeCntrDivr32  = 3
	TypeGauge32     = 4
	TypeGauge64     = 5
	TypeGaugeDivr32 = 6
	TypeNumericID32 = 7
	TypeNumericID64 = 8
	TypeString8     = 9
	TypeString32    = 10 // the seventh field's
)

// BlockOpsKept is the flag of a block whose ops is counted up with every change.
const BlockOpsKept = 1
