package pmapi

import (
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
)

// Events unpacks the records of an event metric's value; see pmUnpackEventRecords(3). Each
// parameter of a record is a metric of the same agent: NamesOf and Desc say which. The
// error is pcp.ErrType where the metric is of another type, and a *pdu.ParseError where the
// records are damaged.
//
// Agents keep records for each client from its first fetch of the metric on, and give each
// record once: a Client gets its own, those who share it do not. When a Client has made a new
// connection (see Changes) it begins anew, and the records of the time between are lost.
// pmcd counts 0 lost records where a metric of type HIGHRES_EVENT says that some were lost.
func Events(v pcp.Value) ([]pcp.EventRecord, error) {
	return pdu.ParseEvents(v.Type(), v.Bytes())
}
