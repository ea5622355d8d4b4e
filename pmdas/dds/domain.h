/* domain number of the agent dds, unless -d says otherwise */
#define DDS 472
