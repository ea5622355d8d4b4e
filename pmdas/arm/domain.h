/* domain number of the agent rtarm, unless -d says otherwise */
#define RTARM 471
