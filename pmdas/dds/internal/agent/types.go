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

// tree is what is exported of all suppliers' contexts: groups of metrics that share
// a fixed context, or the volatile contexts below one.
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
	most    int               // how many there were at once since the map was made
	waiting map[string][]*live
	freed   []string             // paths for which somebody waits
	sources []*source            // in the order in which they came
	owners  map[string][]*source // of fixed contexts that are there, the owner first
	left    bool                 // a supplier has gone since the last recheck
	metrics map[pcp.PMID]*column
	used    map[string]*column // by the metric's name
	nodes   map[string]int     // how many of them there are at a node of the name space and below it

	fetch   uint64 // counts requests
	wanted  []*group
	ids     []pcp.PMID // what wanted was made for
	plan    uint64     // counts how often it was made
	changed bool       // since
	relabel bool       // there are instances whose labels clients have not seen
	scratch []uint64   // the values of one context
	exports int        // live contexts
	values  int
	told    told
	torn    uint64 // contexts without values for once, ever
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

// place is a context's index in its group. It is what instances carry: a fetch walks
// arrays by it, and touches no context.
type place uint32

// spot is what a fetch needs to know of the context at a place.
type spot struct {
	data reader.Place
	form *form
}

// form says where in the data of one kind of context the values of a group's columns
// lie. It is shared by the contexts of one template.
type form struct {
	src    *source
	fields []reader.Field // by column
	stats  []*reader.Stat // by column, nil for those that the context has not got
	has    []bool         // by column, whether there is one
	n      int            // values exported
	second bool           // a metric has its second name, see tree.column

	want []uint16       // the columns it has that requests ask for at present
	read []reader.Field // where their values lie
	text []uint16       // those of them that are characters
	char []reader.Chars // and where these lie
	seen uint64         // the plan that these belong to
}

type formKey struct {
	group *group
	from  int
}

// group is a fixed context's metrics, or those of the volatile contexts below one.
type group struct {
	key      string
	path     string // of the fixed context
	volatile bool   // those below it
	inst     bool   // whose names have naming.Inst
	held     int    // forms that suppliers have which are there
	live     *live  // a fixed context that is there
	insts    *pmda.InDom[place]
	columns  []*column
	byLabel  map[string]int
	highest  int32 // id of an instance

	lives []*live // by place; nil where nobody is
	spots []spot  // by place
	free  []place

	want []uint16 // columns that the present request asks for
	read uint64   // the last request that values were read for
	seen []uint64 // by place, the last request that the context was read for
	gaps bool     // some context lacks some value that was asked for
}

// column is a metric.
type column struct {
	group   *group
	index   int
	label   string // what names it in its group, see group.labels
	kind    string // of volatile context that it was exported for
	stat    string
	decl    reader.Stat // as it was exported; the zero Stat for a metric of before
	typ     pcp.Type
	metric  pmda.Metric
	key     string        // what its number was given to
	user    *account.User // who has it on his account
	users   int           // live contexts that have it
	holders int           // suppliers that have such contexts, or had since they came
	away    time.Time
	noted   bool     // that is kept
	there   bool     // exported
	read    uint64   // the last request that values were read for
	bits    []uint64 // the values, by place
	texts   []string // the same for characters
}
