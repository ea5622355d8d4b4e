/*
 * The agent that ours is measured against: the same metrics on libpcp_pmda, written
 * the way most agents in C are. Cluster 0 item 0 is one value; clusters 1, 2 and 3
 * have eight 64-bit metrics each over instance domains of 10, 1,000 and 10,000
 * instances. The value of a metric is what its instance holds plus the item.
 *
 * Instance domains are tables by default, and kept in pmdaCache with -c. -n limits
 * the instances: domains with more are empty.
 *
 * cc -O2 -o cagent agent.c -lpcp_pmda -lpcp
 */
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	400
#define ITEMS	8
#define INDOMS	3

static const int	sizes[INDOMS] = { 10, 1000, 10000 };
static int64_t		*rows[INDOMS];
static int64_t		single = 42;
static int		cached;
static int		limit = 10000;

static pmdaIndom	indoms[INDOMS];
static pmdaMetric	metrics[1 + INDOMS * ITEMS];

static pmLongOptions longopts[] = {
    PMDA_OPTIONS_HEADER("Options"),
    PMOPT_DEBUG,
    PMDAOPT_DOMAIN,
    PMDAOPT_LOGFILE,
    { "cache", 0, 'c', 0, "keep instance domains in pmdaCache" },
    { "limit", 1, 'n', "N", "leave instance domains of more instances empty" },
    PMDA_OPTIONS_END
};

static pmdaOptions opts = {
    .short_options = "cD:d:l:n:",
    .long_options = longopts,
};

static int
fetch_value(pmdaMetric *m, unsigned int inst, pmAtomValue *atom)
{
    unsigned int	cluster = pmID_cluster(m->m_desc.pmid);
    unsigned int	item = pmID_item(m->m_desc.pmid);
    int64_t		*row;
    void		*private;

    if (cluster == 0) {
	if (inst != PM_IN_NULL)
	    return PM_ERR_INST;
	atom->ll = single;
	return PMDA_FETCH_STATIC;
    }
    if (cluster > INDOMS)
	return PM_ERR_PMID;
    if (cached) {
	if (pmdaCacheLookup(m->m_desc.indom, inst, NULL, &private) != PMDA_CACHE_ACTIVE)
	    return PM_ERR_INST;
	row = private;
    } else {
	if (inst >= (unsigned int)sizes[cluster - 1])
	    return PM_ERR_INST;
	row = &rows[cluster - 1][inst];
    }
    atom->ll = *row + item;
    return PMDA_FETCH_STATIC;
}

static void *
allocate(size_t n, size_t size)
{
    void	*p = calloc(n, size);

    if (p == NULL) {
	fprintf(stderr, "cagent: out of memory\n");
	exit(1);
    }
    return p;
}

static void
fill_indom(int d, int count)
{
    pmInDom	indom = indoms[d].it_indom;
    char	name[32];
    int		i;

    if (!cached) {
	indoms[d].it_set = allocate(count + 1, sizeof(pmdaInstid));
	indoms[d].it_numinst = count;
    }
    for (i = 0; i < count; i++) {
	rows[d][i] = 1000 * (int64_t)i;
	snprintf(name, sizeof(name), "instance%d", i);
	if (cached) {
	    pmdaCacheStore(indom, PMDA_CACHE_ADD, name, &rows[d][i]);
	    continue;
	}
	indoms[d].it_set[i].i_inst = i;
	if ((indoms[d].it_set[i].i_name = strdup(name)) == NULL)
	    exit(1);
    }
}

static void
set_metric(pmdaMetric *m, int cluster, int item, pmInDom indom)
{
    m->m_desc.pmid = pmID_build(0, cluster, item);
    m->m_desc.type = PM_TYPE_64;
    m->m_desc.indom = indom;
    m->m_desc.sem = PM_SEM_INSTANT;
}

static void
declare(void)
{
    int		d, item;

    set_metric(&metrics[0], 0, 0, PM_INDOM_NULL);
    for (d = 0; d < INDOMS; d++) {
	indoms[d].it_indom = d;
	for (item = 0; item < ITEMS; item++)
	    set_metric(&metrics[1 + d * ITEMS + item], d + 1, item, d);
    }
}

int
main(int argc, char **argv)
{
    pmdaInterface	desc;
    int			c, d;

    pmSetProgname(argv[0]);
    pmdaDaemon(&desc, PMDA_INTERFACE_7, "cagent", DOMAIN, "cagent.log", NULL);
    while ((c = pmdaGetOptions(argc, argv, &opts, &desc)) != EOF) {
	switch (c) {
	case 'c':
	    cached = 1;
	    break;
	case 'n':
	    limit = atoi(opts.optarg);
	    break;
	}
    }
    if (opts.errors) {
	pmdaUsageMessage(&opts);
	exit(1);
    }
    pmdaOpenLog(&desc);
    declare();
    for (d = 0; d < INDOMS; d++) {
	rows[d] = allocate(sizes[d], sizeof(int64_t));
	if (!cached)
	    fill_indom(d, sizes[d] <= limit ? sizes[d] : 0);
    }
    pmdaSetFetchCallBack(&desc, fetch_value);
    pmdaInit(&desc, indoms, INDOMS, metrics, sizeof(metrics) / sizeof(metrics[0]));
    if (cached)
	for (d = 0; d < INDOMS; d++)
	    fill_indom(d, sizes[d] <= limit ? sizes[d] : 0);
    pmdaConnect(&desc);
    pmdaMain(&desc);
    exit(0);
}
