package pmapi

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Events unpacks the records of an event metric's value; see pmUnpackEventRecords(3). Each
// parameter of a record is a metric of the same agent; NamesOf and Desc say which. The error
// is pcp.ErrType if the metric is of another type, and a *pdu.ParseError if the records are
// damaged.
//
// Agents keep records for each client, from the client's first fetch of the metric on, and
// give each record once. Goroutines that share a Client share its records. After a Client has
// made a new connection (see Changes), it gets only new records; those of the time in between
// are lost. For a metric of type HIGHRES_EVENT, pmcd gives 0 as the number of lost records
// even if some were lost.
func Events(v pcp.Value) ([]pcp.EventRecord, error) {
	return pdu.ParseEvents(v.Type(), v.Bytes())
}
