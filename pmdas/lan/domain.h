/* domain number of the agent rtlan, unless -d says otherwise */
#define RTLAN 470
