package agent

import (
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmda"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/account"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/conf"
	"github.com/pcp-rtime/rtime/pmdas/dds/internal/naming"
)

// tree holds what is exported of all suppliers' contexts. It consists of groups of
// metrics; the metrics of a group share a fixed context, or the volatile contexts
// below one.
type tree struct {
	users    *account.Users
	conf     *conf.Config
	roster   *roster
	contexts *contexts
	demand   *demand
	now      func() time.Time
	complain func(uid uint32, format string, args ...any)
	server   *pmda.Server
	names    *naming.Names
	keeper   *naming.Keeper

	groups  map[string]*group // by context path; with "/*" for the volatile ones below
	paths   map[string]*live  // contexts with statistics that are exported
	most    int               // the most that there were since the map was made
	waiting map[string][]*live
	freed   []string             // paths that are free now and for which contexts wait
	sources []*source            // in the order in which they came
	owners  map[string][]*source // of fixed contexts that are there, the owner first
	left    bool                 // a supplier has gone since the last recheck
	metrics map[pcp.PMID]*column
	used    map[string]*column // by the metric's name
	nodes   map[string]int     // how many metrics are at a node of the name space and below it

	fetch   uint64 // counts requests
	wanted  []*group
	ids     []pcp.PMID // the metrics that wanted was made for
	plan    uint64     // counts how often wanted was made
	changed bool       // metrics have changed since then
	relabel bool       // there are instances whose labels clients have not seen
	scratch []uint64   // the values of one context
	exports int        // live contexts
	values  int
	told    told
	torn    uint64 // how often a context had no values for once
}

// live is a context that a supplier has at present.
type live struct {
	src   *source
	c     *reader.Context
	group *group // nil while it is not exported
	form  *form
	at    place
	inst  string // name of the instance
}

// place is a context's index in its group. Instances carry it: a fetch walks arrays
// by it and touches no context.
type place uint32

// spot is what a fetch needs to know of the context at a place.
type spot struct {
	data reader.Place
	form *form
}

// form says where the values of a group's columns lie in the data of one kind of
// context. The contexts of one template share it.
type form struct {
	src    *source
	fields []reader.Field // by column
	stats  []*reader.Stat // by column; nil where the context has none
	has    []bool         // by column: whether there is a statistic
	n      int            // number of values exported
	second bool           // a metric has its second name; see tree.column

	want []uint16       // those of its columns that requests ask for at present
	read []reader.Field // where their values lie
	text []uint16       // those of want that are characters
	char []reader.Chars // and where these lie
	seen uint64         // the plan for which want, read, text and char were made
}

type formKey struct {
	group *group
	from  int
}

// group holds the metrics of a fixed context, or of the volatile contexts below one.
type group struct {
	key      string
	path     string // of the fixed context
	volatile bool   // the metrics are those of the volatile contexts below it
	inst     bool   // the names of its metrics have naming.Inst
	held     int    // forms that are held by suppliers that are there
	live     *live  // the fixed context, if it is there
	insts    *pmda.InDom[place]
	columns  []*column
	byLabel  map[string]int
	highest  int32 // the highest number of an instance

	lives []*live // by place; nil where there is none
	spots []spot  // by place
	free  []place

	want []uint16 // columns that the present request asks for
	read uint64   // the last request that read values
	seen []uint64 // by place: the last request that read the context
	gaps bool     // some context lacks a value that was asked for
}

// column is a metric.
type column struct {
	group   *group
	index   int
	label   string // its name in the group; see group.labels
	kind    string // the kind of volatile context that it was exported for
	stat    string
	decl    reader.Stat // as it was exported; the zero Stat for a kept metric
	typ     pcp.Type
	metric  pmda.Metric
	key     string        // what its number was given to
	user    *account.User // whose account it is on
	users   int           // live contexts that have it
	holders int           // suppliers that have such contexts, or have had them since they came
	away    time.Time
	noted   bool     // away is noted in the file
	there   bool     // it is exported
	read    uint64   // the last request that read values
	bits    []uint64 // the values, by place
	texts   []string // the same for characters
}
