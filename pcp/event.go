package pcp

import "time"

// Flags of an event record, as pmUnpackEventRecords(3) describes them.
const (
	EventPoint  uint32 = 1 << iota // an observation at one moment
	EventStart                     // the beginning of something
	EventEnd                       // its end
	EventID                        // the record carries its own identifier
	EventParent                    // the record carries its parent's identifier

	EventMissed uint32 = 1 << 31 // records were lost here; Missed says how many
)

// EventRecord is one record of an event metric: when it happened and parameters,
// each of which is itself a metric of the same agent. Times of metrics of type
// EVENT keep microseconds, those of HIGHRES_EVENT nanoseconds.
type EventRecord struct {
	Time   time.Time
	Flags  uint32
	Missed uint32 // with EventMissed: how many records; Params is then empty
	Params []EventParam
}

// EventParam is one parameter of an event record.
type EventParam struct {
	PMID  PMID
	Value Value
}
