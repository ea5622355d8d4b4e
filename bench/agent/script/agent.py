"""The benchmark's agent in Python: the metrics of cagent/agent.c on pcp.pmda. The
first argument limits the instances: domains with more are empty."""
import sys

import cpmapi
from pcp.pmapi import pmUnits
from pcp.pmda import PMDA, pmdaIndom, pmdaInstid, pmdaMetric

SIZES = (10, 1000, 10000)
LIMIT = int(sys.argv[1])
ROWS = []


def fetch_value(cluster, item, inst):
    """Returns the value of one instance and 1."""
    if cluster == 0:
        return [42, 1]
    try:
        return [ROWS[cluster - 1][inst] + item, 1]
    except IndexError:
        return [cpmapi.PM_ERR_INST, 0]


def declare(agent):
    """Adds all metrics."""
    none = pmUnits(0, 0, 0, 0, 0, 0)
    agent.add_metric('bench.single', pmdaMetric(agent.pmid(0, 0), cpmapi.PM_TYPE_64,
                                                cpmapi.PM_INDOM_NULL, cpmapi.PM_SEM_INSTANT, none))
    for serial, size in enumerate(SIZES):
        count = size if size <= LIMIT else 0
        ROWS.append([1000 * i for i in range(count)])
        indom = agent.indom(serial)
        agent.add_indom(pmdaIndom(indom, [pmdaInstid(i, 'instance%d' % i) for i in range(count)]))
        for item in range(8):
            agent.add_metric('bench.cluster%d.item%d' % (serial + 1, item),
                             pmdaMetric(agent.pmid(serial + 1, item), cpmapi.PM_TYPE_64,
                                        indom, cpmapi.PM_SEM_INSTANT, none))


AGENT = PMDA('benchpython', 400)
declare(AGENT)
AGENT.set_fetch_callback(fetch_value)
AGENT.run()
